/** `undo` and `redo`: take turns of a session back, or bring them again, with the files they changed. */
import { resolve } from "node:path";
import { openEngine, type Run, UsageError } from "@chimera/host";
import { isSet, textFlag } from "../flags.js";
import { openSession } from "../open-session.js";
import { printJson, printLines } from "../output.js";
import { plainLine } from "../terminal/plain.js";

export function rewind(direction: "undo" | "redo"): Run {
  return async (invocation) => {
    const { flags, operands, process } = invocation;
    const steps = stepsOf(textFlag(flags, "steps"));
    const { engine } = await openEngine(invocation);
    try {
      const [id] = operands;
      const cwd = resolve(process.cwd(), textFlag(flags, "cwd") ?? ".");
      const session = await openSession(engine, { cwd, last: true, persist: true, ...(id && { resume: id }) });
      const report = await session[direction]({
        steps,
        force: isSet(flags, "force"),
        dryRun: isSet(flags, "dry-run"),
      });
      if (isSet(flags, "json")) printJson(invocation, { session_id: session.id, ...report });
      else printLines(invocation, [plainLine(report.message), ...describeFiles(report.files)]);
      return 0;
    } finally {
      await engine.close();
    }
  };
}

// --- internal ---

function stepsOf(text: string | undefined): number {
  if (text === undefined) return 1;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new UsageError(`--steps takes a whole number of at least 1, not ${JSON.stringify(text)}`);
}

function describeFiles(files: readonly { readonly path: string; readonly outcome: string }[]): string[] {
  return files
    .filter(({ outcome }) => outcome !== "unchanged")
    .map(({ path, outcome }) => `  ${outcome.padEnd(9)} ${plainLine(path)}`);
}
