/** `sessions list`: one line per session, newest first. */
import type { Invocation } from "@chimera/host";
import { parseSince } from "@chimera/run-reports";
import { isSet, limitFlag, textFlag } from "../flags.js";
import { printJson, printLines, screenWidth } from "../output.js";
import { openStore } from "../store.js";
import { renderTable } from "../terminal/table.js";
import { type SessionRow, sessionColumns, sessionRow } from "./row.js";
import { selectSessions } from "./select.js";

const DEFAULT_LIMIT = 50;

export async function listSessions(invocation: Invocation): Promise<number> {
  const { flags, profile } = invocation;
  const allPrograms = isSet(flags, "all-clis");
  const model = textFlag(flags, "model", "sessions");
  const { store, paths } = openStore(invocation);
  const rows: SessionRow[] = [];
  const selection = selectSessions(store, {
    ...(!allPrograms && { prefix: profile.name }),
    since: parseSince(textFlag(flags, "since"), Date.now()),
    limit: limitFlag(textFlag(flags, "limit", "sessions"), DEFAULT_LIMIT),
    ...(model !== undefined && { matches: ({ summary }) => summary.model === model }),
  });
  for await (const session of selection) rows.push(sessionRow(session, paths.eventlog));
  if (isSet(flags, "json", "sessions")) printJson(invocation, rows);
  else {
    printLines(invocation, await renderTable(sessionColumns(allPrograms), rows, screenWidth(invocation)));
    if (rows.length === 0) printLines(invocation, ["(no persisted sessions found)"]);
  }
  return 0;
}
