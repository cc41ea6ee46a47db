/** The seam between a connection and what carries its lines: stdio, a socket, a WebSocket, event streams. */
import { createLineReader, type Line } from "./frame-reader.js";
import { type ConnectionLimits, defaultLimits } from "./limits.js";

/** The session of a line and the number of the record it shows, for a channel that carries each session separately. */
export interface LineSubject {
  readonly session: string;
  readonly seq?: number;
}

/**
 * Carries encoded messages in both directions, whole and in order.
 *
 * @example
 * createServer((socket) => serveAcp({ channel: streamChannel(socket, socket), sessions, program })).listen(path);
 */
export interface LineChannel {
  /** Queues one message without a newline. Never throws; a message for a peer that has gone is dropped. */
  send(line: string, subject?: LineSubject): void;
  /** How many characters the channel has accepted and the peer has not taken yet. */
  readonly bufferedBytes: number;
  /** Resolves once the channel has room again, or the peer is gone. A channel that carries sessions separately waits for the named one. */
  drained(session?: string): Promise<void>;
  /** Stops and resumes `onLine`. Meanwhile the channel stops the peer from sending more, if it can. */
  pause(on: boolean): void;
  /** Takes the listener for lines. The connection calls this once, before anything is delivered. */
  onLine(take: (line: Line) => void): void;
  /** Takes the listener that is called once at the end. `input_ended`: the peer sends no more and may still read. */
  onClose(done: (reason: "input_ended" | "input_failed" | "output_failed") => void): void;
  /** Delivers the queued lines, then ends the channel. */
  close(): Promise<void>;
}

/** The part of a Node readable stream that a channel uses; it must deliver bytes, not strings. */
export interface InputStream {
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  on(event: "end" | "close", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** The part of a Node writable stream that a channel uses. */
export interface OutputStream {
  write(text: string, done: (error?: Error | null) => void): boolean;
  end(): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "close", listener: () => void): unknown;
}

/**
 * A channel over two byte streams, or over one that goes both ways, with one message a line.
 *
 * @example
 * const connection = createConnection({ channel: streamChannel(child.stdout, child.stdin), methods });
 */
export function streamChannel(
  input: InputStream,
  output: OutputStream,
  limits: Partial<Pick<ConnectionLimits, "maxLineBytes" | "highWaterBytes">> = {},
): LineChannel {
  const { maxLineBytes, highWaterBytes } = { ...defaultLimits, ...limits };
  let closed: Parameters<LineChannel["onClose"]>[0] = () => {};
  const outbox = createOutbox(output, { highWaterBytes, onFailure: () => closed("output_failed") });
  return {
    send: outbox.send,
    get bufferedBytes() {
      return outbox.bufferedBytes;
    },
    drained: outbox.drained,
    pause: (on) => void (on ? input.pause() : input.resume()),
    onLine(take) {
      const reader = createLineReader(take, maxLineBytes);
      const end = () => {
        reader.end();
        closed("input_ended");
      };
      input.on("data", (chunk) => reader.push(chunk));
      input.on("end", end);
      input.on("close", end);
      input.on("error", () => closed("input_failed"));
    },
    onClose(done) {
      closed = done;
    },
    close: outbox.close,
  };
}

/**
 * Back-pressure for a channel: those who want to send wait in `drained` until there is room. Call `settle` when that may be so.
 *
 * @example
 * const { drained, settle } = createBackPressure(() => buffered < 1024 * 1024);
 */
export function createBackPressure(hasRoom: () => boolean) {
  const waiting: (() => void)[] = [];
  return {
    drained: (): Promise<void> =>
      hasRoom() ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve)),
    settle(): void {
      if (hasRoom()) for (const resolve of waiting.splice(0)) resolve();
    },
  };
}

// --- internal ---

const WRITE_AT = 64 * 1024;

/** Writes lines in order and in batches. It calls `onFailure` at most once, when the output is gone (EPIPE, closed by the peer). */
function createOutbox(
  output: OutputStream,
  { highWaterBytes, onFailure }: { readonly highWaterBytes: number; onFailure(): void },
) {
  // The lines are joined when they are written, because growing one string line by line costs twice as much.
  let lines: string[] = [];
  let queued = 0;
  let scheduled = false;
  let inFlight = 0;
  let ended = false;
  const { drained, settle } = createBackPressure(() => ended || queued + inFlight < highWaterBytes);

  function flush(): void {
    scheduled = false;
    if (queued === 0 || ended) return;
    lines.push("");
    const text = lines.join("\n");
    lines = [];
    queued = 0;
    inFlight += text.length;
    output.write(text, (error) => {
      inFlight -= text.length;
      if (error) fail();
      else settle();
    });
  }

  function fail(): void {
    if (ended) return;
    ended = true;
    lines = [];
    queued = 0;
    inFlight = 0;
    settle();
    onFailure();
  }

  output.on("error", fail);
  output.on("close", fail);

  return {
    /** Queues one line. Lines are written in the order of the calls, and the lines of one tick in one write. */
    send(line: string) {
      if (ended) return;
      lines.push(line);
      queued += line.length + 1;
      if (queued >= WRITE_AT) flush();
      else if (!scheduled) {
        scheduled = true;
        // This runs after everything that the current callback and its promises send, and before other events.
        process.nextTick(flush);
      }
    },
    /** How many characters are accepted and not yet taken by the output. */
    get bufferedBytes() {
      return queued + inFlight;
    },
    /** Resolves once the buffer is below the high-water mark, or the output is gone. */
    drained,
    /** Writes the queued lines, ends the output, and resolves when the output has taken them all or failed. */
    close(): Promise<void> {
      if (ended) return Promise.resolve();
      flush();
      return new Promise((resolve) => {
        // The callback of an empty write runs after all earlier ones, and with an error if they failed.
        output.write("", () => {
          ended = true;
          settle();
          output.end();
          resolve();
        });
      });
    },
  };
}
