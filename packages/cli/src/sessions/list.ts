/** `sessions list`: one line per session, newest first. */
import type { Summary } from "@chimera/acp-schema/summary";
import { type ListFilter, sessionPrefix } from "@chimera/event-store";
import type { Invocation } from "@chimera/host";
import { parseSince } from "@chimera/run-reports";
import { isSet, limitFlag, textFlag } from "../flags.js";
import { type Column, printJson, printLines, printTable } from "../output.js";
import { openStore } from "../store.js";

const DEFAULT_LIMIT = 50;

export async function listSessions(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const model = textFlag(flags, "model", "sessions");
  const limit = limitFlag(textFlag(flags, "limit", "sessions"), DEFAULT_LIMIT);
  const { store, pathOf } = await openStore(invocation);
  const { sessions } = await store.list({
    ...askedSessions(invocation),
    ...(Number.isFinite(limit) && { limit }),
    ...(model !== undefined && { model }),
  });
  const rows = sessions.map(({ id, summary }) => rowOf(summary, pathOf(id)));
  if (isSet(flags, "json", "sessions")) printJson(invocation, rows);
  else {
    await printTable(invocation, columns(isSet(flags, "all-clis")), rows);
    if (rows.length === 0) printLines(invocation, ["(no persisted sessions found)"]);
  }
  return 0;
}

/** The sessions that `--all-clis` and `--since` ask for, of those that had a prompt. */
export function askedSessions({ flags, profile }: Invocation): ListFilter {
  const since = parseSince(textFlag(flags, "since"), Date.now());
  return {
    prompted: true,
    ...(!isSet(flags, "all-clis") && { prefixes: [profile.name] }),
    ...(since !== null && { since }),
  };
}

// --- internal ---

type Row = ReturnType<typeof rowOf>;

function rowOf(summary: Summary, path: string) {
  const { session_id, started_at, ended_at, model, prompt, success, cost_usd, steps, error, state } = summary;
  return {
    session_id,
    started_at,
    ended_at,
    model,
    prompt,
    title: summary.title ?? "",
    success,
    cost_usd,
    steps,
    tool_calls: summary.tool_calls_total,
    path,
    error,
    cli_origin: sessionPrefix(session_id),
    state,
  };
}

/** What the column of results says while there is none. */
const UNDER_WAY = { running: "run", waiting: "ask" } as const;

const ORIGIN: Column<Row> = { title: "ORIGIN", width: 7, cell: (row) => row.cli_origin };

function columns(withOrigin: boolean): Column<Row>[] {
  return [
    { title: "SESSION_ID", width: 38, cell: (row) => row.session_id },
    ...(withOrigin ? [ORIGIN] : []),
    { title: "DATE", width: 16, cell: (row) => (row.started_at ?? "").slice(0, 16).replace("T", " ") },
    { title: "MODEL", width: 18, cell: (row) => row.model },
    { title: "STEPS", width: 5, align: "right", cell: (row) => String(row.steps) },
    { title: "COST", width: 8, align: "right", cell: (row) => `$${row.cost_usd.toFixed(4)}` },
    {
      title: "OK",
      width: 3,
      cell: ({ state, success }) => (state !== "idle" ? UNDER_WAY[state] : success ? "yes" : "no"),
    },
    { title: "TITLE", width: 40, cell: (row) => row.title },
    { title: "PROMPT", width: 60, cell: (row) => row.prompt },
  ];
}
