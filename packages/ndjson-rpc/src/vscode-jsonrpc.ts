// Runs vscode-jsonrpc's connection over this package's framing and checks, and this package's over vscode-jsonrpc's transports.

import {
  AbstractMessageReader,
  AbstractMessageWriter,
  createMessageConnection,
  type DataCallback,
  type Disposable,
  type Message,
  type MessageConnection,
  type MessageReader,
  type MessageWriter,
} from "vscode-jsonrpc/node";
import { createBackPressure, type InputStream, type LineChannel, type OutputStream, streamChannel } from "./channel.js";
import { encodeError, type Frame, type InvalidFrame } from "./frame.js";
import { frameOf, type Line } from "./frame-reader.js";
import { type ConnectionLimits, defaultLimits } from "./limits.js";

/**
 * A channel over any reader and writer of vscode-jsonrpc: its sockets, pipes, IPC and message ports. They carry values, so each outgoing
 * line is parsed first.
 *
 * @example
 * import { IPCMessageReader, IPCMessageWriter } from "vscode-jsonrpc/node.js";
 * const channel = messageChannel(new IPCMessageReader(child), new IPCMessageWriter(child));
 */
export function messageChannel(
  reader: MessageReader,
  writer: MessageWriter,
  { highWaterBytes }: Pick<ConnectionLimits, "highWaterBytes"> = defaultLimits,
): LineChannel {
  let buffered = 0;
  let last: Promise<unknown> = Promise.resolve();
  let held: string[] | null = null;
  let isClosed = false;
  let take: (line: Line) => void = () => {};
  let done: Parameters<LineChannel["onClose"]>[0] = () => {};
  const { drained, settle } = createBackPressure(() => isClosed || buffered < highWaterBytes);
  const fail = () => {
    isClosed = true;
    buffered = 0;
    settle();
    done("output_failed");
  };
  return {
    send(line) {
      if (isClosed) return;
      buffered += line.length;
      last = writer.write(JSON.parse(line) as Message).then(() => {
        if (!isClosed) buffered -= line.length;
        settle();
      }, fail);
    },
    get bufferedBytes() {
      return buffered;
    },
    drained,
    pause(on) {
      if (on) {
        held ??= [];
        return;
      }
      const kept = held ?? [];
      held = null;
      for (const line of kept) take(line);
    },
    onLine(given) {
      take = given;
      reader.onClose(() => done("input_ended"));
      writer.onClose(fail);
      writer.onError(fail);
      reader.listen((message) => {
        const line = JSON.stringify(message);
        if (held) held.push(line);
        else take(line);
      });
    },
    onClose(given) {
      done = given;
    },
    async close() {
      await last;
      isClosed = true;
      settle();
      writer.end();
      reader.dispose();
      writer.dispose();
    },
  };
}

/** Reads messages from a channel. It passes a line that is not a JSON-RPC message to `onInvalid` and continues. */
export class ChannelMessageReader extends AbstractMessageReader {
  readonly #channel: LineChannel;
  readonly #onInvalid: (frame: InvalidFrame) => void;
  readonly #maxDepth: number;

  constructor(channel: LineChannel, onInvalid: (frame: InvalidFrame) => void, limits: Partial<ConnectionLimits> = {}) {
    super();
    this.#channel = channel;
    this.#onInvalid = onInvalid;
    this.#maxDepth = limits.maxDepth ?? defaultLimits.maxDepth;
  }

  listen(callback: DataCallback): Disposable {
    let listening = true;
    this.#channel.onClose(() => this.fireClose());
    this.#channel.onLine((line) => {
      const frame = frameOf(line, this.#maxDepth);
      if (!listening) return;
      if (frame.kind === "invalid") this.#onInvalid(frame);
      else if (!isMalformedCancel(frame)) callback(toMessage(frame));
    });
    return {
      dispose: () => {
        listening = false;
      },
    };
  }
}

/** Writes messages to a channel, in order. */
export class ChannelMessageWriter extends AbstractMessageWriter {
  readonly #channel: LineChannel;

  constructor(channel: LineChannel) {
    super();
    this.#channel = channel;
  }

  write(message: Message): Promise<void> {
    this.#channel.send(JSON.stringify(message));
    return this.#channel.drained();
  }

  end(): void {
    void this.#channel.close();
  }
}

/**
 * A vscode-jsonrpc connection over a channel. Malformed lines are answered, which vscode-jsonrpc would only log. Call its `listen()`.
 *
 * @example
 * const connection = channelConnection(streamChannel(socket, socket));
 * connection.listen();
 */
export function channelConnection(channel: LineChannel, limits: Partial<ConnectionLimits> = {}): MessageConnection {
  const refuse = (frame: InvalidFrame) => channel.send(encodeError(frame.idText, frame));
  return createMessageConnection(new ChannelMessageReader(channel, refuse, limits), new ChannelMessageWriter(channel));
}

/**
 * The same as {@link channelConnection}, over newline-delimited streams.
 *
 * @example
 * const connection = createNdjsonMessageConnection(child.stdout, child.stdin);
 * connection.listen();
 */
export function createNdjsonMessageConnection(
  input: InputStream,
  output: OutputStream,
  limits: Partial<ConnectionLimits> = {},
): MessageConnection {
  return channelConnection(streamChannel(input, output, limits), limits);
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

/** Whether vscode-jsonrpc would throw into the stream: it reads `params.id` of its cancel notification unchecked. */
function isMalformedCancel(frame: Frame): boolean {
  if (frame.kind !== "notification" || frame.method !== "$/cancelRequest") return false;
  const id = (frame.params as { id?: unknown } | null | undefined)?.id;
  return typeof id !== "string" && typeof id !== "number";
}
