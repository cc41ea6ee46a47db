/** `sessions list`: one line per session, newest first. `sessions search`: the conversations that contain a text. */
import type { Summary } from "@chimera/acp-schema/summary";
import { type ListFilter, sessionPrefix } from "@chimera/event-store";
import { type Invocation, UsageError } from "@chimera/host";
import { parseSince, type SearchHit, searchSessions as searchLogs } from "@chimera/run-reports";
import { isSet, limitFlag, textFlag } from "../flags.js";
import { type Column, createProgress, printJson, printLines, printTable, styleFor } from "../output.js";
import { withStore } from "../store.js";
import { localTime, plainLine } from "../terminal/text.js";

/** Default number of rows in a list and of results in a search. */
const LISTED = 50;
const FOUND = 20;

export async function listSessions(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const model = textFlag(flags, "model", "sessions");
  const limit = limitFlag(textFlag(flags, "limit", "sessions"), LISTED);
  const rows = await withStore(invocation, async ({ store, pathOf }) => {
    const { sessions } = await store.list({
      ...askedSessions(invocation),
      ...(Number.isFinite(limit) && { limit }),
      ...(model !== undefined && { model }),
    });
    return sessions.map(({ id, summary }) => rowOf(summary, pathOf(id)));
  });
  if (isSet(flags, "json", "sessions")) printJson(invocation, rows);
  else {
    await printTable(invocation, columns(invocation.process.stdout.columns, isSet(flags, "all-clis")), rows);
    if (rows.length === 0) printLines(invocation, ["(no persisted sessions found)"]);
  }
  return 0;
}

/** The filter for sessions with a prompt that `--all-clis` and `--since` select. */
export function askedSessions({ flags, profile }: Invocation): ListFilter {
  const since = parseSince(textFlag(flags, "since"), Date.now());
  return {
    prompted: true,
    ...(!isSet(flags, "all-clis") && { prefixes: [profile.name] }),
    ...(since !== null && { since }),
  };
}

export async function searchSessions(invocation: Invocation): Promise<number> {
  const { flags, operands, process } = invocation;
  const needle = operands.join(" ").trim();
  if (needle === "") throw new UsageError("name a text: sessions search <text>");
  const limit = limitFlag(textFlag(flags, "limit", "sessions"), FOUND);
  const progress = createProgress(process.stderr, "sessions searched");
  const hits: SearchHit[] = [];
  let searched = 0;
  await withStore(invocation, async ({ store }) => {
    const { sessions } = await store.list(askedSessions(invocation));
    for await (const found of searchLogs(store, sessions, needle)) {
      progress.update(++searched);
      if (found) hits.push({ ...found, excerpt: plainLine(found.excerpt) });
      if (hits.length >= limit) break;
    }
  }).finally(() => progress.end());
  if (isSet(flags, "json", "sessions")) printJson(invocation, hits);
  else {
    const style = styleFor(invocation);
    printLines(
      invocation,
      hits.map((hit) => `${style.cyan(hit.session_id)}  ${style.dim(`turn ${hit.turn ?? "-"}`)}  ${hit.excerpt}`),
    );
    if (hits.length === 0) printLines(invocation, ["(nothing found)"]);
  }
  return hits.length > 0 ? 0 : 1;
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

/** Columns of a screen that is wide enough for the additional columns. */
const WIDE = 140;
/** The end of an id, which is enough for a person to type. */
const SHORT_ID = /^[a-z][a-z0-9]*-\d{8}T\d{6}-([0-9a-f]{8})$/;

/** The columns for a screen, with the end of each id; or for a pipe, with whole ids and all columns. */
function columns(screen: number | undefined, withOrigin: boolean): Column<Row>[] {
  const isNarrow = screen !== undefined && screen < WIDE;
  const id = ({ session_id }: Row) => (screen ? (SHORT_ID.exec(session_id)?.[1] ?? session_id) : session_id);
  return [
    { title: "ID", cell: id },
    ...(withOrigin ? [{ title: "ORIGIN", cell: (row: Row) => row.cli_origin }] : []),
    { title: "STARTED", width: 16, cell: (row) => localTime(row.started_at) },
    { title: "STATE", width: 7, cell: (row) => row.state },
    ...(isNarrow ? [] : WIDER),
    { title: "PROMPT", ...(screen ? {} : { width: 60 }), cell: (row) => row.prompt },
  ];
}

const WIDER: readonly Column<Row>[] = [
  { title: "MODEL", width: 18, cell: (row) => row.model },
  { title: "COST", width: 8, align: "right", cell: (row) => `$${row.cost_usd.toFixed(4)}` },
  { title: "TITLE", width: 30, cell: (row) => row.title },
];
