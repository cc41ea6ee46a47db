/** The seam between a connection and what carries its lines: stdio, a socket, a WebSocket, event streams. */
import { createLineReader, type Line } from "./frame-reader.js";
import { defaultLimits, type Limits } from "./limits.js";
import { createOutbox, type OutputStream } from "./outbox.js";

/** What a line is about, for a channel that carries each session apart: the session, and the number of the record it shows. */
export interface LineSubject {
  readonly session: string;
  readonly seq?: number;
}

/**
 * Encoded messages both ways, whole and in order.
 *
 * @example
 * createServer((socket) => serveAcp({ channel: streamChannel(socket, socket), sessions, program })).listen(path);
 */
export interface LineChannel {
  /** Queues one message without a newline. Never throws; what is sent to a peer that has gone is dropped. */
  send(line: string, subject?: LineSubject): void;
  /** Characters accepted and not yet taken by the peer. */
  readonly bufferedBytes: number;
  /** Resolves once the peer has taken enough to go on, or is gone. A channel that carries sessions apart waits for the named one. */
  drained(session?: string): Promise<void>;
  /** Stops and resumes `onLine`; the channel holds the peer back meanwhile, where it can. */
  pause(on: boolean): void;
  /** Called once, before anything is delivered. */
  onLine(take: (line: Line) => void): void;
  /** Called once. `input_ended`: the peer sends no more and may still read. */
  onClose(done: (reason: "input_ended" | "input_failed" | "output_failed") => void): void;
  /** Delivers what is queued, then ends the channel. */
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

/** A channel over two byte streams, or over one that goes both ways, with one message a line. */
export function streamChannel(
  input: InputStream,
  output: OutputStream,
  limits: Partial<Pick<Limits, "maxLineBytes" | "highWaterBytes">> = {},
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
