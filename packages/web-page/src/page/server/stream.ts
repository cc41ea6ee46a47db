/**
 * The one stream of the page: every change of the list, and the records of the sessions that were looked at last. A browser has six connections
 * to a server, so one per session would leave none for the answers.
 */
import { effect, signal } from "@preact/signals-core";
import { type OpenedSession, openSession } from "../session/opened.js";
import { attempt, client, connections, isCode, link, messageOf, problem } from "./client.js";
import { changeRow, readRows } from "./rows.js";
import { isRefused } from "./sign-in.js";

/** A page that was hidden for longer reads again when it is shown. */
const ASLEEP_MS = 30_000;

/** How many sessions the page keeps reading after the person has left them. */
const KEPT = 4;

const opened = new Map<string, OpenedSession>();
/** Ids that the server does not know. */
export const unknown = signal<ReadonlySet<string>>(new Set());
/** Counts up when sessions have to be opened again. */
export const generation = signal(0);
let control: AbortController | null = null;

/** The session, read from its first record on and kept up to date. */
export function openedSession(id: string): OpenedSession {
  const known = opened.get(id);
  const session = known ?? openSession(id);
  opened.delete(id);
  opened.set(id, session);
  if (known) return known;
  for (const oldest of opened.keys()) if (opened.size > KEPT && oldest !== id) opened.delete(oldest);
  connect();
  return session;
}

/** Opens the stream again from where it was: at once, also when the network was away or the machine slept. */
export function connect(): void {
  control?.abort();
  control = new AbortController();
  void read(control.signal);
}

/** Keeps the stream open while the person is signed in. */
export function keepConnected(): void {
  effect(() => {
    if (isRefused.value) control?.abort();
    else connect();
  });
  effect(() => {
    if (connections.value > 0) void attempt(() => readRows());
  });
  let hiddenAt = 0;
  const again = () => {
    if (document.visibilityState === "hidden") hiddenAt = Date.now();
    if (document.visibilityState === "hidden" || isRefused.peek()) return;
    // A connection that slept may be dead and not know it.
    const isStale = hiddenAt > 0 && Date.now() - hiddenAt > ASLEEP_MS;
    hiddenAt = 0;
    if (isStale || link.peek() === "lost") connect();
  };
  addEventListener("online", again);
  addEventListener("pageshow", again);
  document.addEventListener("visibilitychange", again);
}

// --- internal ---

async function read(signal: AbortSignal): Promise<void> {
  const sessions = Object.fromEntries([...opened].map(([id, { seq }]) => [id, seq]));
  const onLoss: Parameters<typeof client.watch>[0]["onLoss"] = (loss, id) => opened.get(id)?.lose(loss);
  try {
    for await (const event of client.watch({ sessions, list: true, signal, onLoss })) {
      if (signal.aborted) return;
      if (event.type === "row") changeRow(event.sessionId, event.row);
      else opened.get(event.sessionId)?.apply(event.record);
    }
  } catch (error) {
    if (!signal.aborted) recover(error);
  }
}

/** Handles errors after which the stream cannot continue by itself. */
function recover(error: unknown): void {
  if (isRefused.peek()) return;
  if (isCode(error, "session_not_found")) {
    // The server knew the others a moment ago, so the unknown session is the newest one.
    const id = [...opened.keys()].at(-1);
    if (id !== undefined) {
      opened.delete(id);
      unknown.value = new Set([...unknown.peek(), id]);
    }
    connect();
    return;
  }
  // Records are missing: read every session again from its start.
  if (isCode(error, "gap")) {
    opened.clear();
    generation.value++;
    return;
  }
  problem.value = messageOf(error);
  link.value = "lost";
}
