/**
 * A channel over HTTP: what the client posts comes in, what it is sent leaves on event streams, one for each session and one for the rest.
 * A stream that ends loses nothing: frames of a record carry its number, and a stream that names one has the log read again from there.
 */
import { createBackPressure, frameOf, type LineChannel, type Frame as Message } from "@chimera/ndjson-rpc";
import { LIMITS } from "../limits.js";
import type { Sink } from "../stream/sink.js";

export interface StreamsChannel extends LineChannel {
  /** Hands over a message of the client. */
  receive(text: string, message: Message): void;
  /** The next line that belongs to no session: the answer to `initialize`. */
  next(): Promise<string>;
  /** Opens the stream of a session, or with null the one for the rest, in place of an older one. `since` is the last id the client has. */
  open(session: string | null, sink: Sink, since: string | undefined): void;
  /** The session whose stream a question of the agent went out on: null for none, undefined for a question that is not waiting. */
  sessionOfQuestion(id: unknown): string | null | undefined;
}

export interface StreamsChannelOptions {
  /** Has the log of a session read again from after a record. */
  readonly rewind: (session: string, seq: number) => void;
  /** Called when the number of open streams changes. */
  readonly onStreams: (open: number) => void;
}

export function createStreamsChannel({ rewind, onStreams }: StreamsChannelOptions): StreamsChannel {
  const lanes = new Map<string | null, Lane>();
  const questions = createQuestions();
  let take: (line: string) => void = () => {};
  let fail: Parameters<LineChannel["onClose"]>[0] = () => {};
  let expected: ((line: string) => void) | null = null;
  let isClosed = false;

  const laneOf = (session: string | null): Lane => {
    const known = lanes.get(session);
    if (known) return known;
    // What waits for a stream is bounded; a client that never comes back loses its connection.
    const lane = createLane(session, () => fail("output_failed"));
    lanes.set(session, lane);
    return lane;
  };
  const reportStreams = () => onStreams([...lanes.values()].filter((lane) => lane.isOpen()).length);

  return {
    receive(text, message) {
      if (message.kind === "response") questions.settle(message.id);
      take(text);
    },
    next: () =>
      new Promise((resolve) => {
        expected = resolve;
      }),
    sessionOfQuestion: (id) => questions.laneOf(id)?.session,
    open(session, sink, since) {
      const lane = laneOf(session);
      lane.open(sink);
      const seq = lane.goBack(since);
      if (session !== null) {
        if (seq !== null) rewind(session, seq);
        questions.repeat(lane);
      }
      void sink.gone.then(() => {
        if (!lane.leave(sink)) return;
        if (lane.held().length === 0 && lane.last() === 0) lanes.delete(session);
        reportStreams();
      });
      reportStreams();
    },

    send(line, place) {
      if (isClosed) return;
      if (expected) {
        const resolve = expected;
        expected = null;
        return resolve(line);
      }
      if (place) {
        const lane = laneOf(place.session);
        lane.push(line, place.seq);
        return questions.askDue(lane);
      }
      const message = frameOf(line, LIMITS.bodyDepth);
      const lane = laneOf(sessionOf(message));
      questions.placeOf(message, line, lane).push(line);
    },
    // What waits for a stream holds its own reader back, not what the client posts.
    bufferedBytes: 0,
    async drained(session) {
      if (session !== undefined) await lanes.get(session)?.drained();
    },
    pause() {},
    onLine(given) {
      take = given;
    },
    onClose(done) {
      fail = done;
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await Promise.all([...lanes.values()].map((lane) => lane.close()));
      expected?.("");
    },
  };
}

/** The session a message names. */
export function sessionOf(message: Message): string | null {
  if (message.kind !== "request" && message.kind !== "notification") return null;
  if (message.method.startsWith("$/")) return null;
  const { sessionId } = Object(message.params) as { sessionId?: unknown };
  return typeof sessionId === "string" ? sessionId : null;
}

// --- internal ---

interface Frame {
  readonly line: string;
  /** The place of the frame in its stream; null where a client cannot come back to it. */
  readonly id: string | null;
}

type Lane = ReturnType<typeof createLane>;

/** What one stream is sent, whether it is open or not. Null is the stream for all that belongs to no session. */
function createLane(session: string | null, onOverflow: () => void) {
  const queue = createQueue(onOverflow);
  return { session, ...queue, ...(session === null ? countedFrames(queue) : recordFrames(queue)) };
}

/** The frames of records have the numbers of the records, and the log has them all. The others have none. */
function recordFrames(queue: Queue) {
  /** The last record that was queued, and the last one before all that was queued. */
  let [last, start]: [number, number | null] = [0, null];
  return {
    last: () => last,
    push(line: string, seq?: number) {
      queue.put({ line, id: seq === undefined ? null : String(seq) });
      if (seq === undefined) return;
      start ??= seq - 1;
      last = seq;
    },
    /** Makes ready what comes after the last id that the client has. Returns the record after which the log is to be read again, if any. */
    goBack(since: string | undefined): number | null {
      // A client whose stream broke before the first number asks for all of it.
      const asked = since === "start" ? String(start ?? "") : since;
      if (asked === undefined || !/^\d{1,15}$/.test(asked)) return null;
      const seq = Number(asked);
      if (seq < last) {
        queue.hold(queue.held().filter(({ id }) => id === null));
        last = seq;
      }
      return seq;
    },
  };
}

/** Frames without a session are counted, and the newest are kept for a stream that comes back. */
function countedFrames(queue: Queue) {
  let last = 0;
  let sent: Frame[] = [];
  return {
    last: () => last,
    push(line: string, _seq?: number) {
      const frame = { line, id: `c${++last}` };
      sent.push(frame);
      if (sent.length > 2 * LIMITS.acpKeptFrames) sent = sent.slice(-LIMITS.acpKeptFrames);
      queue.put(frame);
    },
    goBack(since: string | undefined): null {
      const seen = /^c(\d{1,15})$/.exec(since ?? "")?.[1];
      if (seen !== undefined) queue.hold(sent.filter(({ id }) => Number(id?.slice(1)) > Number(seen)));
      return null;
    },
  };
}

type Queue = ReturnType<typeof createQueue>;

/** Frames that wait for a stream, and the stream that takes them when there is one. */
function createQueue(onOverflow: () => void) {
  let frames: Frame[] = [];
  let bytes = 0;
  let sink: Sink | null = null;
  /** The stream that is written to now. A stream that was replaced may still finish a write. */
  let writing: Sink | null = null;
  let isClosed = false;
  const { drained, settle } = createBackPressure(() => isClosed || bytes < LIMITS.acpHighBytes);

  const hold = (given: Frame[]): void => {
    frames = given;
    bytes = given.reduce((sum, { line }) => sum + line.length, 0);
  };
  /** What was sent in one tick leaves in one piece. */
  const pump = async (): Promise<void> => {
    const mine = sink;
    if (!mine || writing === mine) return;
    writing = mine;
    await Promise.resolve();
    while (sink === mine && frames.length > 0) {
      const text = frames.map(encode).join("");
      hold([]);
      await mine.write(Buffer.from(text));
      settle();
    }
    if (writing === mine) writing = null;
  };

  return {
    hold,
    held: () => frames,
    isOpen: () => sink !== null,
    put(frame: Frame) {
      frames.push(frame);
      bytes += frame.line.length;
      if (bytes > LIMITS.acpQueuedBytes) onOverflow();
      else void pump();
    },
    /** Writes to this stream from now on, and ends the one before it. */
    open(next: Sink) {
      sink?.end();
      sink = next;
      // A client sees at once that it is connected.
      void next.write(Buffer.from(": connected\n\n"));
      void pump();
    },
    /** False for a stream that was replaced. */
    leave(gone: Sink): boolean {
      if (sink !== gone) return false;
      sink = null;
      return true;
    },
    drained,
    async close(): Promise<void> {
      isClosed = true;
      await pump();
      settle();
      sink?.end();
    },
  };
}

/** A question of the agent that the client has not answered. */
interface Question {
  readonly line: string;
  readonly lane: Lane;
  /** Comes after this record. */
  readonly after: number;
}

function createQuestions() {
  const open = new Map<unknown, Question>();
  /** Those that are asked again once their record has passed. */
  const again = new Set<Question>();
  /** Forgets a question that was answered or withdrawn, and returns the lane on which it went out. */
  const settle = (id: unknown): Lane | undefined => {
    const question = open.get(id);
    open.delete(id);
    if (question) again.delete(question);
    return question?.lane;
  };
  const askDue = (lane: Lane): void => {
    for (const question of again) {
      if (question.lane !== lane || question.after > lane.last()) continue;
      again.delete(question);
      lane.push(question.line);
    }
  };
  return {
    laneOf: (id: unknown) => open.get(id)?.lane,
    settle,
    askDue,
    /** Notes a question, and returns the lane for a line that belongs to `lane`: a question is withdrawn where it was asked. */
    placeOf(message: Message, line: string, lane: Lane): Lane {
      if (message.kind === "request") open.set(message.id, { line, lane, after: lane.last() });
      if (message.kind !== "notification" || message.method !== "$/cancel_request") return lane;
      return settle((message.params as { requestId?: unknown }).requestId) ?? lane;
    },
    /** Asks again all that went out on a lane, but for what waits there. */
    repeat(lane: Lane) {
      for (const question of open.values()) {
        const waits = lane.held().some(({ line }) => line === question.line);
        if (question.lane === lane && !waits) again.add(question);
      }
      askDue(lane);
    },
  };
}

function encode({ id, line }: Frame): string {
  return `${id === null ? "" : `id: ${id}\n`}data: ${line}\n\n`;
}
