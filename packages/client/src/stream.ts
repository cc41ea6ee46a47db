/** Event streams that survive lost connections and restarts of the server. They yield each record once and in order, or throw. */
import type { SessionRecord } from "@chimera/acp-schema/events";
import type { Loss, SessionRow } from "@chimera/acp-schema/http";
import { ClientError } from "./error.js";
import type { Sender } from "./send.js";
import { type ServerEvent, serverEvents } from "./server-events.js";

export interface FollowOptions {
  /** The number of the last record you have; 0 for all records, `"live"` for new ones only. @defaultValue 0 */
  readonly from?: number | "live";
  /** Starts with the prompt of this turn if `from` is not set. @defaultValue starts with the first record */
  readonly turn?: number;
  /** When the stream ends: when nothing runs any more, when a turn has ended, or never. @defaultValue "end" */
  readonly until?: "end" | "turn" | "never";
  readonly signal?: AbortSignal | undefined;
  /** Called for records that the server has lost. @defaultValue they are skipped */
  readonly onLoss?: (loss: Loss) => void;
}

export interface WatchOptions {
  /** Session id -> number of the last record you have; up to 32 sessions. */
  readonly sessions?: Readonly<Record<string, number>>;
  /** Whether to include changes of the list. */
  readonly list?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onLoss?: (loss: Loss, sessionId: string) => void;
}

/** A record of one of the sessions, or a new row of the list: null for a deleted session. */
export type Watched =
  | { readonly type: "record"; readonly sessionId: string; readonly record: SessionRecord }
  | { readonly type: "row"; readonly sessionId: string; readonly row: SessionRow | null };

export async function* follow(sender: Sender, id: string, options: FollowOptions): AsyncGenerator<SessionRecord, void> {
  const { until = "end", turn, signal, onLoss } = options;
  const query = turn === undefined ? "" : `&turn=${turn}`;
  const path = `/sessions/${encodeURIComponent(id)}/events?until=${until}${query}`;
  const from = options.from === "live" ? await headOf(sender, id, signal) : (options.from ?? (query ? null : 0));
  const cursor = createCursor(from, onLoss);
  let hasEnded = false;
  // If the stream broke off after the last record of a turn, ask for that record again. A stream from the head would wait for another.
  const lastId = ({ seq } = cursor) => (seq === null ? "" : String(seq - (hasEnded && seq > (from ?? 0) ? 1 : 0)));
  for await (const { event, data } of connected(sender, () => [path, lastId()], signal)) {
    if (event === "end") {
      if (until !== "never") return;
      continue;
    }
    const record = cursor.take(JSON.parse(data) as SessionRecord | Loss);
    if (!record) continue;
    hasEnded = record.type === "agent_result" || record.type === "cancelled";
    yield record;
    if (hasEnded && until === "turn") return;
  }
}

export async function* watch(sender: Sender, options: WatchOptions): AsyncGenerator<Watched, void> {
  const { sessions = {}, list = false, signal, onLoss } = options;
  const cursors = new Map(
    Object.entries(sessions).map(([id, seq]) => [id, createCursor(seq, (loss) => onLoss?.(loss, id))]),
  );
  const path = () => {
    const asked = [...cursors].map(([id, { seq }]): [string, string] => ["session", `${id}:${seq}`]);
    return `/events?${new URLSearchParams([...asked, ["list", String(list)]])}`;
  };
  for await (const { event, data } of connected(sender, () => [path(), ""], signal)) {
    const { session_id: sessionId, record: entry, row } = JSON.parse(data);
    const record = event === "record" ? cursors.get(sessionId)?.take(entry) : null;
    if (event === "row") yield { type: "row", sessionId, row };
    else if (record) yield { type: "record", sessionId, record };
  }
}

// --- internal ---

/** Yields the events of a stream, and opens it again whenever it ends or breaks. Leaving the loop ends the request. */
async function* connected(
  sender: Sender,
  place: () => readonly [path: string, lastId: string],
  signal: AbortSignal | undefined,
): AsyncGenerator<ServerEvent, void> {
  for (let attempt = 0; ; ) {
    const control = new AbortController();
    const leave = () => control.abort(signal?.reason);
    signal?.addEventListener("abort", leave);
    if (signal?.aborted) leave();
    try {
      const [path, lastId] = place();
      const response = await sender.open(path, lastId ? { "last-event-id": lastId } : {}, control.signal);
      for await (const events of serverEvents(response, control.signal)) {
        attempt = 0;
        yield* events;
      }
      // If the stream keeps ending at once, the delays grow.
      await sender.retry(attempt++, new ClientError("unreachable", "the stream ended"), control.signal);
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const error =
        cause instanceof ClientError ? cause : new ClientError("unreachable", (cause as Error).message, { cause });
      if (!error.retryable) throw error;
      await sender.retry(attempt++, error, signal);
    } finally {
      signal?.removeEventListener("abort", leave);
      control.abort();
    }
  }
}

/**
 * Passes each record once and in order. Throws `gap` for a missing record that the server does not report as lost.
 *
 * @param from null to start with whatever record comes first
 */
function createCursor(from: number | null, onLoss: ((loss: Loss) => void) | undefined) {
  let seq = from;
  return {
    get seq() {
      return seq;
    },
    take(entry: SessionRecord | Loss): SessionRecord | null {
      const isLoss = "missing" in entry;
      const [first, last] = isLoss ? [entry.missing.first, entry.missing.last] : [entry.seq, entry.seq];
      seq ??= first - 1;
      if (last <= seq) return null;
      if (first > seq + 1) throw new ClientError("gap", `records ${seq + 1} to ${first - 1} did not come`);
      seq = last;
      if (!isLoss) return entry;
      onLoss?.(entry);
      return null;
    },
  };
}

async function headOf(sender: Sender, id: string, signal: AbortSignal | undefined): Promise<number> {
  return (await sender.call("GET /session/{id}", { id }, { signal })).event_count;
}
