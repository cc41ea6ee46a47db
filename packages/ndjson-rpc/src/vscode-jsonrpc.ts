// The same framing and guard under vscode-jsonrpc's own connection, for programs that already speak through it.

import {
  AbstractMessageReader,
  AbstractMessageWriter,
  createMessageConnection,
  type DataCallback,
  type Disposable,
  type Message,
  type MessageConnection,
} from "vscode-jsonrpc/node";
import type { InputStream } from "./connection.js";
import type { Frame, InvalidFrame } from "./frame.js";
import { encodeError } from "./frame.js";
import { createFrameReader } from "./frame-reader.js";
import { defaultLimits, type Limits } from "./limits.js";
import { createOutbox, type Outbox, type OutputStream } from "./outbox.js";

/** Reads one message per line; a line that is no JSON-RPC message goes to `onInvalid` and the stream goes on. */
export class NdjsonMessageReader extends AbstractMessageReader {
  readonly #input: InputStream;
  readonly #onInvalid: (frame: InvalidFrame) => void;
  readonly #limits: Partial<Limits>;

  constructor(input: InputStream, onInvalid: (frame: InvalidFrame) => void, limits: Partial<Limits> = {}) {
    super();
    this.#input = input;
    this.#onInvalid = onInvalid;
    this.#limits = limits;
  }

  listen(callback: DataCallback): Disposable {
    let listening = true;
    const reader = createFrameReader((frame) => {
      if (!listening) return;
      if (frame.kind === "invalid") this.#onInvalid(frame);
      else if (!isMalformedCancel(frame)) callback(toMessage(frame));
    }, this.#limits);
    this.#input.on("data", (chunk) => reader.push(chunk));
    this.#input.on("error", (error) => this.fireError(error));
    this.#input.on("end", () => {
      reader.end();
      this.fireClose();
    });
    return {
      dispose: () => {
        listening = false;
      },
    };
  }
}

/** Writes one message per line, in order, the lines of one tick in one write. */
export class NdjsonMessageWriter extends AbstractMessageWriter {
  readonly #outbox: Outbox;

  constructor(output: OutputStream, limits: Partial<Limits> = {}) {
    super();
    this.#outbox = createOutbox(output, {
      highWaterBytes: limits.highWaterBytes ?? defaultLimits.highWaterBytes,
      onFailure: () => this.fireClose(),
      onBuffered: () => {},
    });
  }

  write(message: Message): Promise<void> {
    this.#outbox.send(JSON.stringify(message));
    return this.#outbox.drained();
  }

  /** Answers a line that vscode-jsonrpc itself would only log. */
  refuse(frame: InvalidFrame): void {
    this.#outbox.send(encodeError(frame.idText, frame));
  }

  end(): void {
    void this.#outbox.close();
  }
}

/** A vscode-jsonrpc connection over newline-delimited streams, with malformed lines answered; call its `listen()`. */
export function createNdjsonMessageConnection(
  input: InputStream,
  output: OutputStream,
  limits: Partial<Limits> = {},
): MessageConnection {
  const writer = new NdjsonMessageWriter(output, limits);
  const reader = new NdjsonMessageReader(input, (frame) => writer.refuse(frame), limits);
  return createMessageConnection(reader, writer);
}

// --- internal ---

function toMessage(frame: Exclude<Frame, InvalidFrame>): Message {
  switch (frame.kind) {
    case "request":
      return { jsonrpc: "2.0", id: frame.id, method: frame.method, params: frame.params } as Message;
    case "notification":
      return { jsonrpc: "2.0", method: frame.method, params: frame.params } as Message;
    case "response":
      return { jsonrpc: "2.0", id: frame.id, result: frame.result, error: frame.error } as Message;
  }
}

/** vscode-jsonrpc reads `params.id` of its cancel notification unchecked and would throw into the stream. */
function isMalformedCancel(frame: Frame): boolean {
  if (frame.kind !== "notification" || frame.method !== "$/cancelRequest") return false;
  const id = (frame.params as { id?: unknown } | null | undefined)?.id;
  return typeof id !== "string" && typeof id !== "number";
}
