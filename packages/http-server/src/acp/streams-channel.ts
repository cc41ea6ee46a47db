/**
 * A channel over HTTP: what the client posts comes in, what it is sent leaves on event streams, one for each session and one for the rest.
 * A stream that ends loses nothing: frames of a record carry its number, and a stream that names one has the log read again from there.
 */
import { frameOf, type LineChannel } from "@chimera/ndjson-rpc";
import { LIMITS } from "../limits.js";
import type { Sink } from "../stream/sink.js";

export interface StreamsChannel extends LineChannel {
  /** Hands over a message of the client. */
  receive(text: string): void;
  /** The next line that belongs to no session: the answer to `initialize`. */
  next(): Promise<string>;
  /** Opens the stream of a session, or with null the one for the rest, in place of an older one. `since` is the last id the client has. */
  open(session: string | null, sink: Sink, since: string | undefined): void;
  /** The session whose stream a question of the agent went out on: null for none, undefined for a question that is not waiting. */
  sessionOfQuestion(id: unknown): string | null | undefined;
  readonly streams: number;
}

interface Frame {
  readonly line: string;
  readonly id: string | null;
  /** The record it shows. */
  readonly seq?: number | undefined;
}

/** One stream, open or not. */
interface Lane {
  readonly session: string | null;
  queue: Frame[];
  bytes: number;
  /** The number of the last record that was queued, or of the last frame of the stream that has no session. */
  last: number;
  /** The last record before all that was queued. */
  start: number | null;
  sink: Sink | null;
  /** The stream that is written to now. A stream that was replaced may still finish a write. */
  writing: Sink | null;
  waiting: (() => void)[];
}

/** A question of the agent that the client has not answered. */
interface Question {
  readonly line: string;
  readonly lane: Lane;
  /** Comes after this record. */
  readonly after: number;
}

export function createStreamsChannel(options: {
  /** Has the log of a session read again from after a record. */
  readonly rewind: (session: string, seq: number) => void;
  /** Called when the number of open streams changes. */
  readonly onStreams: (open: number) => void;
}): StreamsChannel {
  const lanes = new Map<string | null, Lane>();
  /** What the stream without a session has sent, for one that comes back. */
  let sent: Frame[] = [];
  const questions = new Map<unknown, Question>();
  /** Questions that are asked again once their record has passed. */
  let again: Question[] = [];
  let take: (line: string) => void = () => {};
  let fail: Parameters<LineChannel["onClose"]>[0] = () => {};
  let expected: ((line: string) => void) | null = null;
  let isClosed = false;

  const laneOf = (session: string | null): Lane => {
    const known = lanes.get(session);
    if (known) return known;
    const lane: Lane = { session, queue: [], bytes: 0, last: 0, start: null, sink: null, writing: null, waiting: [] };
    lanes.set(session, lane);
    return lane;
  };
  const openStreams = () => [...lanes.values()].filter(({ sink }) => sink !== null).length;

  const push = (lane: Lane, line: string, seq?: number): void => {
    const id = seq === undefined ? null : String(seq);
    const frame = lane.session === null ? { line, id: `c${++lane.last}` } : { line, id, seq };
    if (lane.session === null) {
      sent.push(frame);
      if (sent.length > 2 * LIMITS.acpKeptFrames) sent = sent.slice(-LIMITS.acpKeptFrames);
    }
    lane.queue.push(frame);
    lane.bytes += line.length;
    if (seq !== undefined) {
      lane.start ??= seq - 1;
      lane.last = seq;
      askAgain(lane);
    }
    // What waits for a stream is bounded; a client that never comes back loses its connection.
    if (lane.bytes > LIMITS.acpQueuedBytes) fail("output_failed");
    else void pump(lane);
  };
  const askAgain = (lane: Lane): void => {
    const due = again.filter((question) => question.lane === lane && question.after <= lane.last);
    if (due.length === 0) return;
    again = again.filter((question) => !due.includes(question));
    for (const { line } of due) push(lane, line);
  };

  const settle = (lane: Lane): void => {
    if (!isClosed && lane.bytes >= LIMITS.acpHighBytes) return;
    for (const resolve of lane.waiting.splice(0)) resolve();
  };
  /** What was sent in one tick leaves in one piece. */
  const pump = async (lane: Lane): Promise<void> => {
    const { sink } = lane;
    if (!sink || lane.writing === sink) return;
    lane.writing = sink;
    await Promise.resolve();
    while (lane.sink === sink && lane.queue.length > 0) {
      const frames = lane.queue;
      lane.queue = [];
      lane.bytes = 0;
      await sink.write(Buffer.from(frames.map(encode).join("")));
      settle(lane);
    }
    if (lane.writing === sink) lane.writing = null;
  };

  const goBack = (lane: Lane, since: string | undefined): void => {
    const { session } = lane;
    if (session === null) {
      const seen = Number(/^c(\d{1,15})$/.exec(since ?? "")?.[1] ?? Number.NaN);
      if (!Number.isInteger(seen)) return;
      const lost = sent.filter(({ id }) => Number(id?.slice(1)) > seen);
      lane.queue = lost;
      lane.bytes = lost.reduce((sum, { line }) => sum + line.length, 0);
      return;
    }
    const unanswered = [...questions.values()].filter((question) => question.lane === lane);
    const waiting = new Set(lane.queue.map(({ line }) => line));
    // A client whose stream broke before the first number asks for all of it.
    const asked = since === "start" ? String(lane.start ?? "") : since;
    if (asked !== undefined && /^\d{1,15}$/.test(asked)) {
      const seq = Number(asked);
      if (seq < lane.last) {
        lane.queue = lane.queue.filter((frame) => frame.seq === undefined);
        lane.last = seq;
      }
      options.rewind(session, seq);
    }
    again = [...again, ...unanswered.filter(({ line }) => !waiting.has(line))];
    askAgain(lane);
  };

  return {
    receive(text) {
      take(text);
    },
    next: () =>
      new Promise((resolve) => {
        expected = resolve;
      }),
    sessionOfQuestion: (id) => questions.get(id)?.lane.session,
    get streams() {
      return openStreams();
    },
    open(session, sink, since) {
      const lane = laneOf(session);
      lane.sink?.end();
      lane.sink = sink;
      goBack(lane, since);
      // A client sees at once that it is connected.
      void sink.write(Buffer.from(": connected\n\n"));
      void sink.gone.then(() => {
        if (lane.sink !== sink) return;
        lane.sink = null;
        if (lane.queue.length === 0 && lane.last === 0) lanes.delete(session);
        options.onStreams(openStreams());
      });
      options.onStreams(openStreams());
      void pump(lane);
    },

    send(line, place) {
      if (isClosed) return;
      if (expected) {
        const resolve = expected;
        expected = null;
        return resolve(line);
      }
      if (place) return push(laneOf(place.session), line, place.seq);
      const message = frameOf(line, LIMITS.bodyDepth);
      const session = sessionOf(message);
      const lane = laneOf(session);
      if (message.kind === "request") questions.set(message.id, { line, lane, after: lane.last });
      if (message.kind !== "notification" || message.method !== "$/cancel_request") return push(lane, line);
      const { requestId } = message.params as { requestId?: unknown };
      const withdrawn = questions.get(requestId);
      questions.delete(requestId);
      again = again.filter((question) => question !== withdrawn);
      push(withdrawn?.lane ?? lane, line);
    },
    // What waits for a stream holds its own reader back, not what the client posts.
    bufferedBytes: 0,
    drained(session) {
      const lane = session === undefined ? undefined : lanes.get(session);
      if (isClosed || !lane || lane.bytes < LIMITS.acpHighBytes) return Promise.resolve();
      return new Promise((resolve) => lane.waiting.push(resolve));
    },
    pause() {},
    onLine(given) {
      take = (text) => {
        const message = frameOf(text, LIMITS.bodyDepth);
        if (message.kind === "response") {
          const answered = questions.get(message.id);
          questions.delete(message.id);
          again = again.filter((question) => question !== answered);
        }
        given(text);
      };
    },
    onClose(done) {
      fail = done;
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      for (const lane of lanes.values()) {
        await pump(lane);
        settle(lane);
        lane.sink?.end();
      }
      expected?.("");
    },
  };
}

// --- internal ---

function encode({ id, line }: Frame): string {
  return `${id === null ? "" : `id: ${id}\n`}data: ${line}\n\n`;
}

/** The session a message names. */
export function sessionOf(message: ReturnType<typeof frameOf>): string | null {
  if (message.kind !== "request" && message.kind !== "notification") return null;
  if (message.method.startsWith("$/")) return null;
  const { sessionId } = Object(message.params) as { sessionId?: unknown };
  return typeof sessionId === "string" ? sessionId : null;
}
