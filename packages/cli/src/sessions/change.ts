/** Commands that change a session, in this process or at the server that holds it: `sessions rename` and `delete`, `undo`, `redo`. */
import { type Invocation, type RunCommand, UsageError } from "@chimera/host";
import { namedError, type RewindReport } from "@chimera/session";
import { requireOperand } from "../actions.js";
import { serverHolding, whereOpen } from "../client/holder.js";
import { isSet, textFlag } from "../flags.js";
import { lastSession } from "../open-session.js";
import { printReport } from "../output.js";
import { meantId, requireSummary } from "../store.js";
import { plainLine } from "../terminal/text.js";
import { withCore } from "../with-core.js";

/** Sets a session's title; removes it when no title is given. */
export async function renameSession(invocation: Invocation): Promise<number> {
  const typed = requireOperand(invocation, "a session and its title: sessions rename <id> <title>");
  const title = plainLine(invocation.operands.slice(1).join(" "));
  const id = await withCore(invocation, async ({ core }) => {
    const meant = await meantId({ list: core.sessions.listAll }, typed);
    await whereOpen(invocation, core, meant, {
      here: (session) => session.setTitle(title),
      there: async (session) => void (await session.change({ title })),
    });
    return meant;
  });
  const line = title === "" ? `${id} has no title now` : `${id} is now called ${title}`;
  return printReport(invocation, { session_id: id, title }, [line]);
}

/** Deletes sessions with their logs, snapshots and long outputs. Deletes nothing unless all named sessions exist. */
export async function deleteSessions(invocation: Invocation): Promise<number> {
  requireOperand(invocation, "a session: sessions delete <id>");
  const gone: { readonly session_id: string; readonly prompt: string }[] = [];
  await withCore(invocation, async ({ core: { sessions } }) => {
    for (const typed of invocation.operands) {
      const session_id = await meantId({ list: sessions.listAll }, typed);
      gone.push({ session_id, prompt: (await requireSummary(sessions.logs, session_id)).prompt });
    }
    for (const { session_id: id } of gone) {
      await sessions.delete(id).catch(async (error: unknown) => {
        await serverHolding(invocation, namedError(error, id)).ask((client) => client.sessions.open(id).delete());
      });
    }
  });
  const lines = gone.map(({ session_id, prompt }) => `${session_id} is deleted: ${plainLine(prompt) || "no prompt"}`);
  return printReport(invocation, { deleted: gone.map(({ session_id }) => session_id) }, lines);
}

/** Undoes or redoes turns of a session together with their files. */
export function rewind(direction: "undo" | "redo"): RunCommand {
  return async (invocation) => {
    const { flags, operands } = invocation;
    const steps = stepsOf(textFlag(flags, "steps"));
    return withCore(invocation, async ({ core, config }) => {
      const id = operands[0]
        ? await meantId({ list: core.sessions.listAll }, operands[0])
        : await lastSession(core, config.cwd);
      const [force, dryRun] = [isSet(flags, "force"), isSet(flags, "dry-run")];
      const report = await whereOpen<RewindReport>(invocation, core, id, {
        here: (session) => session[direction]({ steps, force, dryRun }),
        there: (session) => session[direction]({ steps, force, dry_run: dryRun }),
      });
      const lines = [
        `${id}: ${dryRun ? wouldDo(direction, report) : plainLine(report.message).replace(/^\/\w+: /, "")}`,
        ...describeFiles(report.files, dryRun),
      ];
      return printReport(invocation, { session_id: id, ...report }, lines);
    });
  };
}

// --- internal ---

function stepsOf(text: string | undefined): number {
  if (text === undefined) return 1;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new UsageError(`--steps takes a whole number of at least 1, not ${JSON.stringify(text)}`);
}

function wouldDo(direction: "undo" | "redo", { turns, remaining }: RewindReport): string {
  return `would ${direction} ${turns} turn${turns === 1 ? "" : "s"} (${remaining} remaining); nothing is changed yet`;
}

/** Outcomes that a dry run words differently from `would be OUTCOME`. */
const WOULD: Readonly<Record<string, string>> = { conflict: "would be kept", skipped: "would be skipped" };

function describeFiles(files: RewindReport["files"], dryRun: boolean): string[] {
  return files
    .filter(({ outcome }) => outcome !== "unchanged")
    .map(({ path, outcome, reason }) => {
      const why = reason ? ` (${reason.replaceAll("_", " ")})` : "";
      const does = dryRun ? (WOULD[outcome] ?? `would be ${outcome}`).padEnd(18) : outcome.padEnd(9);
      return `  ${does} ${plainLine(`${path}${why}`)}`;
    });
}
