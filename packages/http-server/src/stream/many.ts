/** One stream for several sessions and for changes of the list, because a browser opens few connections and a page shows many sessions. */
import { isLost, type SessionEvent } from "@chimera/acp-schema/events";
import type { SessionRow } from "@chimera/acp-schema/http";
import { type LogEntry, parseCursor } from "@chimera/event-store";
import type { Sessions } from "@chimera/session";
import type { AppDeps } from "../deps.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { type Batch, frame } from "./frame.js";
import { lineOf } from "./projection.js";
import type { RowWatch } from "./rows.js";
import type { Sink } from "./sink.js";

/** Session id -> the number of the last record that the reader has. */
export type Cursors = ReadonlyMap<string, number>;

/**
 * `asked` are ids, or `id:seq`. The numbers in `resumed`, the last event id of this stream, override theirs. It is read as that of a stream of
 * one session, which refuses nothing. Throws `invalid_query`.
 */
export function parseCursors(asked: readonly string[], resumed: string | undefined): Cursors {
  const cursors = new Map<string, number>();
  for (const one of asked) cursors.set(...parseAsked(one));
  for (const one of resumed?.split(",") ?? []) {
    const [id = "", ...seq] = one.trim().split(":");
    if (cursors.has(id)) cursors.set(id, parseCursor(seq.join(":")));
  }
  if (cursors.size <= LIMITS.streamedSessions) return cursors;
  throw new HttpError(400, "invalid_query", `session: one stream has at most ${LIMITS.streamedSessions} sessions`);
}

export interface ManyRequest {
  readonly cursors: Cursors;
  /** Reports changed rows of the list. Null if the client did not ask for them. */
  readonly rows: RowWatch | null;
  readonly sink: Sink;
  /** Aborting it ends the stream at once. */
  readonly stop: AbortController;
}

export function openMany(sessions: Sessions, log: AppDeps["log"], { cursors, rows, sink, stop }: ManyRequest): void {
  const { signal } = stop;
  const writes = createWriteQueue();
  const reached = new Map(cursors);
  const fail = (error: unknown) => {
    // A failed write also fails those that wait behind it. The log names the first failure.
    if (signal.aborted) return;
    log?.("stream failed", { error: String(error) });
    stop.abort();
  };
  /** Writes what no subscription waits for. */
  const writeNext = (work: () => void | Promise<void>): void => {
    writes.run(work)?.catch(fail);
  };
  const write = (text: string) => sink.write(Buffer.from(text));
  /** Only the last record of a batch has an id, which names the cursor of every session. A reader skips records that it has already. */
  const writeRecords = (id: string, batch: Batch): void | Promise<void> => {
    reached.set(id, endOf(batch));
    const texts = batch.map((entry) => `{"session_id":${JSON.stringify(id)},"record":${lineOf(entry)}}`);
    const place = [...reached].map(([one, seq]) => `${one}:${seq}`).join(",");
    return write(texts.map((data, at) => frame(at === texts.length - 1 ? place : null, "record", data)).join(""));
  };
  /** While a slow peer reads, no further batch is kept in memory. It is read from the log again when the peer is ready. */
  const writeAgain = async (id: string, from: number, to: number): Promise<void> => {
    if (signal.aborted) return;
    const batch: LogEntry<SessionEvent>[] = [];
    try {
      for await (const entry of sessions.logs.read(id, { from, to })) batch.push(entry);
      if (batch.length === 0) throw new Error(`the log of session ${id} has lost the records after ${from}`);
    } catch (error) {
      // The session was deleted meanwhile.
      if (!(await sessions.logs.has(id))) return;
      throw error;
    }
    await writeRecords(id, batch);
  };
  const deliver = (id: string, batch: Batch): void | Promise<void> => {
    if (!writes.isBusy()) return writes.run(() => writeRecords(id, batch));
    const [from, to] = [batch[0]!.seq - 1, endOf(batch)];
    return writes.run(() => writeAgain(id, from, to));
  };
  const followed = [...cursors].map(([id, from]) => {
    const subscription = sessions.logs.follow(id, { from }, (batch) => deliver(id, batch));
    subscription.ended.catch(fail);
    return subscription;
  });
  /** Changed rows that are not sent yet. A row that changes again meanwhile is sent once, in its newest form. */
  const due = new Map<string, () => SessionRow | null>();
  const writeRow = (id: string): void | Promise<void> => {
    const row = due.get(id);
    due.delete(id);
    if (row) return write(frame(null, "row", JSON.stringify({ session_id: id, row: row() })));
  };
  const unwatch = rows?.((id, row) => {
    const isDue = due.has(id);
    due.set(id, row);
    if (!isDue) writeNext(() => writeRow(id));
  });
  const end = () => {
    for (const subscription of followed) subscription.close();
    unwatch?.();
    due.clear();
    sink.end();
  };
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  // This shows the reader at once that it is connected.
  else writeNext(() => write(": connected\n\n"));
}

// --- internal ---

function endOf(batch: Batch): number {
  const last = batch.at(-1)!;
  return isLost(last) ? last.last : last.seq;
}

/** Writes run one after the other, so that two never mix while a slow peer reads. Unlike `createLanes`, most writes make no promise. */
function createWriteQueue() {
  let last: Promise<void> | undefined;
  return {
    isBusy: () => last !== undefined,
    run(work: () => void | Promise<void>): void | Promise<void> {
      const mine = last ? last.then(work) : work();
      if (!mine) return;
      const settled = mine.finally(() => {
        if (last === settled) last = undefined;
      });
      last = settled;
      return settled;
    },
  };
}

function parseAsked(text: string): [string, number] {
  const [, id = "", seq = "0"] = /^([^:,]+)(?::(\d{1,15}))?$/.exec(text.trim()) ?? [];
  if (id === "") throw new HttpError(400, "invalid_query", "session: an id, or an id and a number as id:42");
  return [id, Number(seq)];
}
