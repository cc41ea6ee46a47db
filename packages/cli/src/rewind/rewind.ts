/** `undo` and `redo`: take turns of a session back, or bring them again, with the files they changed. */
import { openCore, type Run, UsageError } from "@chimera/host";
import type { RewindReport } from "@chimera/session";
import { whereOpen } from "../client/holder.js";
import { isSet, textFlag } from "../flags.js";
import { lastSession } from "../open-session.js";
import { printJson, printLines } from "../output.js";
import { plainLine } from "../terminal/plain.js";

export function rewind(direction: "undo" | "redo"): Run {
  return async (invocation) => {
    const { flags, operands } = invocation;
    const steps = stepsOf(textFlag(flags, "steps"));
    const { core, config } = await openCore(invocation);
    try {
      const id = operands[0] ?? (await lastSession(core, config.cwd));
      const [force, dryRun] = [isSet(flags, "force"), isSet(flags, "dry-run")];
      const report = await whereOpen<RewindReport>(invocation, core, id, {
        here: (session) => session[direction]({ steps, force, dryRun }),
        there: async (post) => (await post(direction, { steps, force, dry_run: dryRun })) as RewindReport,
      });
      if (isSet(flags, "json")) printJson(invocation, { session_id: id, ...report });
      else printLines(invocation, [plainLine(report.message), ...describeFiles(report.files)]);
      return 0;
    } finally {
      await core.close();
    }
  };
}

// --- internal ---

function stepsOf(text: string | undefined): number {
  if (text === undefined) return 1;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new UsageError(`--steps takes a whole number of at least 1, not ${JSON.stringify(text)}`);
}

function describeFiles(files: RewindReport["files"]): string[] {
  return files
    .filter(({ outcome }) => outcome !== "unchanged")
    .map(({ path, outcome, reason }) => {
      const why = reason ? ` (${reason.replaceAll("_", " ")})` : "";
      return `  ${outcome.padEnd(9)} ${plainLine(`${path}${why}`)}`;
    });
}
