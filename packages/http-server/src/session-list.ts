/** The rows of `GET /sessions`: loaded and stored sessions in one order, page by page. */
import type { SessionRow } from "@chimera/acp-schema/http";
import type { Summary } from "@chimera/acp-schema/summary";
import { comparePlaces, formatPageEnd, type PageEnd, parsePageEnd, sessionTime } from "@chimera/event-store";
import type { ListedSummary, Session, Sessions } from "@chimera/session";
import { LIMITS } from "./limits.js";

export interface ListQuery {
  readonly state: "live" | "persisted" | "all";
  /** Rows of a page. Null: all rows. Undefined: the default number, and on the first page also every live session. */
  readonly limit: number | null | undefined;
  readonly after: string | undefined;
  /** Epoch milliseconds. */
  readonly since: number | null;
  readonly model: string | undefined;
}

/**
 * A page of rows, the last touched first. `next` is a position in that order, so rows that come or go meanwhile do not hide others.
 *
 * @param held the sessions that any node of a shared store holds
 */
export async function pageOfSessions(
  sessions: Sessions,
  { state, limit, after, since, model }: ListQuery,
  held?: ReadonlySet<string>,
): Promise<{ sessions: SessionRow[]; next: string | null }> {
  const start = after === undefined ? null : parsePageEnd(after);
  const live = state === "persisted" ? [] : sessions.live();
  // Without a limit the first page has every live session, so the others have none.
  const shownNow = limit === undefined && start !== null ? [] : live;
  const found = shownNow
    .filter((session) => isAsked(session, { since, model }))
    .map((session) => ({ place: [session.touchedAt, session.id] as const, row: liveRow(session) }))
    .filter(({ place }) => start === null || comparePlaces(start, place) < 0);
  const cap = limit === undefined ? LIMITS.listedSessions : limit;
  let [isMore, last]: [boolean, OrderedRow | undefined] = [false, undefined];
  if (state !== "live" || held) {
    const present = new Set(live.map(({ id }) => id));
    const page = await sessions.list({
      ...(cap !== null && state !== "live" && { limit: cap + present.size + 1 }),
      ...(after !== undefined && { after }),
      ...(since !== null && { since }),
      ...(model !== undefined && { model }),
    });
    const isHeld = (id: string) => state !== "persisted" && held?.has(id) === true;
    const stored = page.sessions.filter(({ id }) => !present.has(id) && (state !== "live" || isHeld(id)));
    isMore = cap !== null && stored.length > cap;
    const rows: OrderedRow[] = [];
    for (const one of stored.slice(0, cap ?? undefined))
      rows.push({ place: [one.touched, one.id], row: await storedRow(sessions, one, isHeld(one.id)) });
    last = rows.at(-1);
    found.push(...rows);
  }
  found.sort((a, b) => comparePlaces(a.place, b.place));
  // Without a limit, the first page has every live session, and the next page begins after its last stored session.
  const isWhole = limit === undefined && after === undefined;
  const shown = isWhole ? found : found.slice(0, cap ?? undefined);
  if (!isWhole) last = shown.at(-1);
  isMore ||= shown.length < found.length;
  return { sessions: shown.map(({ row }) => row), next: isMore && last ? formatPageEnd(last.place) : null };
}

export function liveRow(session: Session): SessionRow {
  return rowOf(session.summary(), session.touchedAt, session);
}

/** The row of a session that this process has not loaded. Its unanswered questions are read from its log. */
export async function storedRow(sessions: Sessions, stored: ListedSummary, isHeld: boolean): Promise<SessionRow> {
  const { id, summary, touched } = stored;
  const waiting = summary.state === "waiting" ? await sessions.read(id).catch(() => null) : null;
  const engine = summary.engine ?? engineOf(sessions.defaults);
  return { ...rowOf(summary, touched, null, waiting), engine, ...(isHeld && { state: "live" }) };
}

// --- internal ---

function rowOf(
  summary: Summary,
  touched: number,
  session: Session | null,
  waiting: Pick<Session, "openPermissions" | "openQuestions"> | null = session,
): SessionRow {
  const started = summary.started_at ?? timeInId(summary.session_id);
  // In whole seconds, as it is stored, so that the row does not change when its session is unloaded.
  const created = started === null ? null : Date.parse(started);
  return {
    session_id: summary.session_id,
    state: session ? "live" : "persisted",
    status: summary.state,
    permissions: [...(waiting?.openPermissions.values() ?? [])],
    questions: [...(waiting?.openQuestions.values() ?? [])],
    working_dir: summary.cwd || null,
    created_at: created === null ? null : created / 1000,
    last_touched: touched / 1000,
    created: created === null ? null : new Date(created).toISOString(),
    updated: new Date(touched).toISOString(),
    event_count: session?.lastSeq ?? null,
    started_at: started,
    ended_at: summary.ended_at,
    model: summary.model || null,
    owner: summary.owner ?? null,
    shared: summary.shared ?? false,
    engine: session && engineOf(session.settings),
    prompt: summary.prompt,
    title: summary.title,
    success: summary.ended_at === null ? null : summary.success,
    cost_usd: summary.cost_usd,
    steps: summary.steps,
    tool_calls: summary.tool_calls_total,
  };
}

function engineOf({ options }: Session["settings"]): string | null {
  return (options["engine"] as string | undefined) ?? null;
}

interface OrderedRow {
  readonly place: PageEnd;
  readonly row: SessionRow;
}

function isAsked(session: Session, { since, model }: Pick<ListQuery, "since" | "model">): boolean {
  return (model === undefined || session.summary().model === model) && (since === null || session.createdAt >= since);
}

function timeInId(id: string): string | null {
  const time = sessionTime(id);
  return Number.isNaN(time) ? null : `${new Date(time).toISOString().slice(0, 19)}Z`;
}
