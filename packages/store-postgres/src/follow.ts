/**
 * Follows logs that other nodes write. After a commit a node sends one message for many sessions, and nodes that follow one of them
 * read its log. Messages may be lost, so a node also looks at every followed log once a second, and whenever its listening connection
 * was opened again.
 */

import { type Entry, type EventBody, StoreError } from "@chimera/event-store";
import { ReplayedEntry, type Watcher } from "@chimera/event-store/backend";
import { arrayOf, type Connections } from "./connect.js";
import { onceMore } from "./listener.js";

export type Following<E extends EventBody> = ReturnType<typeof createFollowing<E>>;

interface Followed<E extends EventBody> {
  readonly watcher: Watcher<E>;
  /** The last number that the watcher has. -1 until the database was asked for the first time. */
  head: number;
}

const CHANNEL = "chimera_log";
const LOOK_MS = 1000;
/** Bytes of one message; PostgreSQL allows less than 8000. */
const MESSAGE = 7900;
/** How many records of one session a look fetches for all readers; when there are more, each reader fetches its own. */
const AT_HAND = 200;

export function createFollowing<E extends EventBody>({ reads, signs, listener }: Connections) {
  const followed = new Map<string, Followed<E>>();
  /** The ends of logs that messages have named, by session. */
  let said = new Map<string, number>();
  let unseen = new Set<string>();
  let isListening = false;
  let timer: NodeJS.Timeout | undefined;
  let hints = new Map<string, number>();
  let isClosed = false;

  const lookAtAll = (): void => {
    for (const sid of followed.keys()) unseen.add(sid);
    void look();
  };
  const listen = (): void => {
    if (isListening) return;
    isListening = true;
    timer = setInterval(lookAtAll, LOOK_MS).unref();
    void listener.listen(CHANNEL, heard, lookAtAll);
  };
  const heard = (message: string): void => {
    for (const part of message.split(",")) {
      const at = part.lastIndexOf(":");
      const [sid, seq] = [part.slice(0, at), Number(part.slice(at + 1))];
      const log = followed.get(sid);
      if (log === undefined || (seq !== 0 && seq <= log.head)) continue;
      if (seq === 0 || log.head < 0) unseen.add(sid);
      else said.set(sid, Math.max(seq, said.get(sid) ?? 0));
    }
    if (unseen.size > 0 || said.size > 0) void look();
  };

  /** Asks the database for the ends of logs. */
  const askHeads = async (sids: readonly string[]): Promise<void> => {
    const rows = await reads.sql<{ sid: string; last: number }>`
      SELECT sid, last_seq::float8 AS last FROM chimera.session WHERE sid = ANY(${arrayOf(sids)}::text[])`;
    const heads = new Map(rows.map(({ sid, last }) => [sid, last]));
    for (const sid of sids) {
      const log = followed.get(sid);
      const head = heads.get(sid);
      if (log === undefined) continue;
      if (head === undefined) {
        followed.delete(sid);
        log.watcher.end(log.head < 0 ? new StoreError("not_found", `no session ${sid}`) : undefined);
      } else if (log.head < 0) {
        log.head = head;
        log.watcher.advance(head);
      } else if (head > log.head) said.set(sid, head);
    }
  };
  /** Fetches the new records of all logs in one statement. */
  const fetch = async (due: ReadonlyMap<string, number>): Promise<void> => {
    const logs = [...due.keys()].flatMap((sid) => {
      const log = followed.get(sid);
      return log === undefined ? [] : [{ sid, log, from: log.head }];
    });
    const rows = await reads.sql<{ sid: string; seq: number; line: string }>`
      SELECT e.sid, e.seq::float8 AS seq, e.line
      FROM unnest(${arrayOf(logs.map(({ sid }) => sid))}::text[], ${arrayOf(logs.map(({ from }) => from))}::int8[]) AS h(sid, at)
      CROSS JOIN LATERAL (
        SELECT sid, seq, line FROM chimera.event WHERE sid = h.sid AND seq > h.at ORDER BY seq LIMIT ${AT_HAND}) e`;
    const found = new Map<string, Entry<E>[]>();
    for (const { sid, seq, line } of rows) {
      const entry = new ReplayedEntry<E>(seq, line);
      const entries = found.get(sid);
      if (entries === undefined) found.set(sid, [entry]);
      else entries.push(entry);
    }
    for (const { sid, log, from } of logs) {
      const entries = found.get(sid) ?? [];
      const last = entries.at(-1)?.seq ?? from;
      if (followed.get(sid) !== log || last <= from) continue;
      log.head = Math.max(last, entries.length < AT_HAND ? last : (due.get(sid) ?? last));
      if (entries.length < AT_HAND) log.watcher.publish(entries);
      else log.watcher.advance(log.head);
    }
  };
  const look = onceMore(async () => {
    if (isClosed) return;
    const asked = [...unseen];
    unseen = new Set();
    if (asked.length > 0) await askHeads(asked);
    const due = said;
    said = new Map();
    if (due.size > 0) await fetch(due);
  });

  const send = onceMore(async () => {
    if (isClosed || hints.size === 0) return;
    const messages = messagesOf(hints);
    hints = new Map();
    await signs.sql`
      SELECT pg_notify(${CHANNEL}, m) FROM unnest(string_to_array(${messages.join("\n")}, E'\n')) AS m`;
  });

  return {
    watch(sid: string, watcher: Watcher<E>) {
      listen();
      const log = { watcher, head: -1 };
      followed.set(sid, log);
      unseen.add(sid);
      void look();
      return () => {
        if (followed.get(sid) === log) followed.delete(sid);
      };
    },
    /** Notifies other nodes that a log ends at this number now; 0 means that it is gone. */
    hint(sid: string, seq: number) {
      hints.set(sid, seq);
      void send();
    },
    close() {
      isClosed = true;
      clearInterval(timer);
    },
  };
}

// --- internal ---

function messagesOf(hints: ReadonlyMap<string, number>): string[] {
  const messages: string[] = [];
  let message = "";
  for (const [sid, seq] of hints) {
    const part = `${sid}:${seq}`;
    if (message.length + part.length >= MESSAGE) {
      messages.push(message);
      message = "";
    }
    message += message === "" ? part : `,${part}`;
  }
  return [...messages, message];
}
