/**
 * A channel over HTTP. The client posts messages. The server's messages go out on event streams: one for each session, and one for
 * everything else. When a stream breaks, nothing is lost: a frame of a record carries the record's number, and a new stream names the last
 * number that the client has, from which the log is read again.
 */
import { createBackPressure, frameOf, type LineChannel, type Frame as Message } from "@chimera/ndjson-rpc";
import { LIMITS } from "../limits.js";
import type { Sink } from "../stream/sink.js";

export interface StreamsChannel extends LineChannel {
  /** Takes a message that the client posted. */
  receive(text: string, message: Message): void;
  /** Resolves with the next line that is sent, which goes out on no stream: the answer to `initialize`. */
  next(): Promise<string>;
  /**
   * Opens the stream of a session, or with null the stream for everything else. It replaces an open stream of the same session. `since` is
   * the last id that the client has.
   */
  open(session: string | null, sink: Sink, since: string | undefined): void;
  /**
   * The session on whose stream the agent asked a question. Null if it was asked on the stream for everything else, undefined if the question
   * is not waiting for an answer.
   */
  sessionOfQuestion(id: unknown): string | null | undefined;
}

export interface StreamsChannelOptions {
  /** Reads the log of a session again, from after the record with this number. */
  readonly rewind: (session: string, seq: number) => void;
  /** Called when the number of open streams changes. */
  readonly onStreams: (open: number) => void;
}

export function createStreamsChannel({ rewind, onStreams }: StreamsChannelOptions): StreamsChannel {
  const outlets = new Map<string | null, Outlet>();
  const questions = createQuestions();
  let take: (line: string) => void = () => {};
  let fail: Parameters<LineChannel["onClose"]>[0] = () => {};
  let expected: ((line: string) => void) | null = null;
  let isClosed = false;

  const outletOf = (session: string | null): Outlet => {
    // Too many frames that wait for a stream end the connection: the client does not come back.
    const outlet = outlets.get(session) ?? createOutlet(session, () => fail("output_failed"));
    outlets.set(session, outlet);
    return outlet;
  };
  const reportStreams = () => onStreams([...outlets.values()].filter((outlet) => outlet.isOpen()).length);

  return {
    receive(text, message) {
      if (message.kind === "response") questions.settle(message.id);
      take(text);
    },
    next: () =>
      new Promise((resolve) => {
        expected = resolve;
      }),
    sessionOfQuestion: (id) => questions.outletOf(id)?.session,
    open(session, sink, since) {
      const outlet = outletOf(session);
      outlet.open(sink);
      const seq = outlet.goBack(since);
      if (session !== null) {
        if (seq !== null) rewind(session, seq);
        questions.repeat(outlet);
      }
      void sink.gone.then(() => {
        if (!outlet.leave(sink)) return;
        if (outlet.held().length === 0 && outlet.last() === 0) outlets.delete(session);
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
        const outlet = outletOf(place.session);
        outlet.push(line, place.seq);
        return questions.askDue(outlet);
      }
      const message = frameOf(line, LIMITS.bodyDepth);
      const outlet = outletOf(sessionOf(message));
      questions.placeOf(message, line, outlet).push(line);
    },
    // Frames that wait for a stream pause only that stream's reader. Posts of the client still come in.
    bufferedBytes: 0,
    async drained(session) {
      if (session !== undefined) await outlets.get(session)?.drained();
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
      await Promise.all([...outlets.values()].map((outlet) => outlet.close()));
      expected?.("");
    },
  };
}

/** The session that a message names. Null if it names none. */
export function sessionOf(message: Message): string | null {
  if (message.kind !== "request" && message.kind !== "notification") return null;
  if (message.method.startsWith("$/")) return null;
  const { sessionId } = Object(message.params) as { sessionId?: unknown };
  return typeof sessionId === "string" ? sessionId : null;
}

// --- internal ---

interface Frame {
  readonly line: string;
  /** The id of the frame in its stream. Null if a client cannot resume after this frame. */
  readonly id: string | null;
}

type Outlet = ReturnType<typeof createOutlet>;

/** The frames of one stream, which wait here while no stream is open. A null session stands for the stream for everything else. */
function createOutlet(session: string | null, onOverflow: () => void) {
  const queue = createQueue(onOverflow);
  return { session, ...queue, ...(session === null ? countedFrames(queue) : recordFrames(queue)) };
}

/** A frame of a record has the record's number as its id, and the log has all of these. Other frames of a session have no id. */
function recordFrames(queue: Queue) {
  /** The number of the newest queued record, and of the record before the oldest queued one. */
  let [last, start]: [number, number | null] = [0, null];
  return {
    last: () => last,
    push(line: string, seq?: number) {
      queue.put({ line, id: seq === undefined ? null : String(seq) });
      if (seq === undefined) return;
      start ??= seq - 1;
      last = seq;
    },
    /** Drops queued frames that will be read from the log again. Returns the record after which to read it; null for not at all. */
    goBack(since: string | undefined): number | null {
      // A client whose stream broke before it got an id asks for everything of the stream.
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

/** Frames without a session have a count as their id. The newest are kept for a client that opens the stream again. */
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

/** Frames that wait for a stream, and the stream that takes them if one is open. */
function createQueue(onOverflow: () => void) {
  let frames: Frame[] = [];
  let bytes = 0;
  let sink: Sink | null = null;
  /** The stream to which a write is under way. It may be one that was replaced. */
  let writing: Sink | null = null;
  let isClosed = false;
  const { drained, settle } = createBackPressure(() => isClosed || bytes < LIMITS.acpHighBytes);

  const hold = (given: Frame[]): void => {
    frames = given;
    bytes = given.reduce((sum, { line }) => sum + line.length, 0);
  };
  /** Writes the frames of one tick together. */
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
    /** Writes to this stream from now on, and ends the stream that it replaces. */
    open(next: Sink) {
      sink?.end();
      sink = next;
      // This shows the client at once that it is connected.
      void next.write(Buffer.from(": connected\n\n"));
      void pump();
    },
    /** Forgets a stream that has ended. False if another one had replaced it. */
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

/** A request of the agent that the client has not answered. */
interface Question {
  readonly line: string;
  readonly outlet: Outlet;
  /** The newest record of the stream when the question was asked. */
  readonly after: number;
}

function createQuestions() {
  const open = new Map<unknown, Question>();
  /** Questions to send again on a new stream, each after the record that came before it. */
  const again = new Set<Question>();
  /** Forgets a question that is answered or withdrawn. Returns the outlet on which it was sent. */
  const settle = (id: unknown): Outlet | undefined => {
    const question = open.get(id);
    open.delete(id);
    if (question) again.delete(question);
    return question?.outlet;
  };
  const askDue = (outlet: Outlet): void => {
    for (const question of again) {
      if (question.outlet !== outlet || question.after > outlet.last()) continue;
      again.delete(question);
      outlet.push(question.line);
    }
  };
  return {
    outletOf: (id: unknown) => open.get(id)?.outlet,
    settle,
    askDue,
    /** The outlet for a line that names `outlet`'s session. Remembers a question, and withdraws one on the outlet where it was asked. */
    placeOf(message: Message, line: string, outlet: Outlet): Outlet {
      if (message.kind === "request") open.set(message.id, { line, outlet, after: outlet.last() });
      if (message.kind !== "notification" || message.method !== "$/cancel_request") return outlet;
      return settle((message.params as { requestId?: unknown }).requestId) ?? outlet;
    },
    /** Sends every unanswered question of an outlet again, except those that are still queued on it. */
    repeat(outlet: Outlet) {
      for (const question of open.values()) {
        const waits = outlet.held().some(({ line }) => line === question.line);
        if (question.outlet === outlet && !waits) again.add(question);
      }
      askDue(outlet);
    },
  };
}

function encode({ id, line }: Frame): string {
  return `${id === null ? "" : `id: ${id}\n`}data: ${line}\n\n`;
}
