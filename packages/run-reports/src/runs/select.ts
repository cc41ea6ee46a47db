import type { SessionEvent } from "@chimera/acp-schema/events";
import type { EventStore } from "@chimera/event-store";
import { parseInstant, parseSince } from "./query.js";
import { RUN_PREFIXES, type Run, readRun } from "./run.js";

/** All that a rollup needs of a store: its list, which comes from an index. No session is opened. */
export type RunStore = Pick<EventStore<SessionEvent, object>, "list">;

export interface RunQuery {
  /** Epoch milliseconds, what `since` spans are counted back from. */
  readonly now: number;
  /** As `parseSince` reads it. A run that does not say when it started is kept. */
  readonly since?: string | null;
  /** A part of the model's name, in any case. Blank and `all` mean every model. */
  readonly model?: string | null;
  /** At most so many runs, newest first, after the other filters. Absent, zero or negative: all. */
  readonly limit?: number | null;
  /** @defaultValue mink, otter and ferret */
  readonly prefixes?: readonly string[];
}

/** The runs a query asks for, newest first. Throws ReportError `invalid_query`. */
export async function selectRuns(store: RunStore, query: RunQuery): Promise<Run[]> {
  const since = parseSince(query.since, query.now);
  const model = modelFilter(query.model)?.toLowerCase() ?? null;
  const limit = query.limit != null && query.limit > 0 ? query.limit : Number.POSITIVE_INFINITY;
  const runs: Run[] = [];
  let after: string | null = null;
  let page = limit;
  do {
    const { sessions, next } = await store.list({
      prefixes: query.prefixes ?? RUN_PREFIXES,
      ...(Number.isFinite(page) && { limit: page }),
      ...(after !== null && { after }),
    });
    for (const session of sessions) {
      const run = readRun(session);
      if (run === null || !startedSince(run, since)) continue;
      if (model !== null && !run.model.toLowerCase().includes(model)) continue;
      runs.push(run);
      if (runs.length >= limit) return runs;
    }
    after = next;
    // Filters left rows out of a page that was just large enough: further ones of that size could be many.
    page = Math.max(page, FURTHER_PAGE);
  } while (after !== null);
  return runs;
}

/** The model filter as reports echo it: null when it filters nothing. */
export function modelFilter(model: string | null | undefined): string | null {
  const trimmed = model?.trim() ?? "";
  return trimmed === "" || trimmed.toLowerCase() === "all" ? null : trimmed;
}

/** The `since` filter as reports echo it. */
export function sinceFilter(since: string | null | undefined): string | null {
  return since == null || since.trim() === "" ? null : since;
}

// --- internal ---

const FURTHER_PAGE = 256;

function startedSince(run: Run, since: number | null): boolean {
  if (since === null || run.started_at === null) return true;
  const started = parseInstant(run.started_at);
  return started === null || started >= since;
}
