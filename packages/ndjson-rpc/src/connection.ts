import { createCalls } from "./calls.js";
import { type InputStream, type LineChannel, type LineSubject, type OutputStream, streamChannel } from "./channel.js";
import { ConnectionError } from "./errors.js";
import { encodeError, encodeNotification, encodeRequest } from "./frame.js";
import { frameOf, type Line } from "./frame-reader.js";
import { createIncoming, type MapError, type UnknownMethod } from "./incoming.js";
import { type ConnectionLimits, defaultLimits } from "./limits.js";
import type { MethodSource, Methods, ParamsOf, ResultOf } from "./method-table.js";
import { invalidPaths, type StandardSchema } from "./standard-schema.js";

/** Why a connection closed: the input ended, a stream failed, or `close()` was called. */
export type CloseReason = "input_ended" | "input_failed" | "output_failed" | "closed";

/** The transport of a connection: a channel, or two byte streams with one message per line. */
export type Wire = { readonly channel: LineChannel } | { readonly input: InputStream; readonly output: OutputStream };

export type ConnectionOptions<Peer extends Methods = Methods> = Wire & ConnectionSettings<Peer>;

export interface ConnectionSettings<Peer extends Methods = Methods> {
  /** The methods this side serves; `use` can replace them later. */
  readonly methods?: Methods;
  /** Turns an error that a handler throws into the peer's answer. @defaultValue -32603 with the message in `data` */
  readonly mapError?: MapError;
  /** The methods the peer serves. They give `request` and `notify` their types and validate the peer's answers. */
  readonly peer?: Peer;
  readonly limits?: Partial<ConnectionLimits>;
  readonly onClose?: (reason: CloseReason) => void;
  /** Receives errors that no answer can carry, such as that of a failed notification handler. */
  readonly onError?: (error: unknown, context: { readonly method: string }) => void;
}

export interface Connection<Peer extends Methods = Methods> {
  /** Calls the peer. Aborting sends `$/cancel_request` and rejects at once. */
  request<K extends keyof Peer & string>(
    method: K,
    params?: ParamsOf<Peer[K]>,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<ResultOf<Peer[K]>>;
  notify<K extends keyof Peer & string>(method: K, params?: ParamsOf<Peer[K]>): void;
  /** Sends one complete JSON-RPC message that is already encoded, without a newline, in order with all other output. */
  notifyEncoded(line: string, subject?: LineSubject): void;
  /** Replaces the method table that this side serves, from the next frame on. */
  use(methods: MethodSource, mapError?: MapError, unknown?: UnknownMethod): void;
  /** How many characters of output are accepted and not yet taken by the stream. */
  readonly bufferedBytes: number;
  /** Resolves once the output is below `limits.highWaterBytes`, or gone. A channel that separates sessions looks only at `session`. */
  drained(session?: string): Promise<void>;
  /** Aborts the requests being served, rejects the calls being awaited, writes the queued output and ends it. */
  close(): Promise<void>;
  /** Resolves when the connection is closed and the output has taken its last line. */
  readonly closed: Promise<CloseReason>;
}

/**
 * Speaks JSON-RPC 2.0 in both directions over a channel of lines, one message per line.
 *
 * @example
 * const connection = createConnection({ channel: streamChannel(process.stdin, process.stdout), methods });
 */
export function createConnection<Peer extends Methods = Methods>(options: ConnectionOptions<Peer>): Connection<Peer> {
  const limits = { ...defaultLimits, ...options.limits };
  const channel = "channel" in options ? options.channel : streamChannel(options.input, options.output, limits);
  // Node's timers fire at once when they are given a longer delay.
  const endGraceMs = Math.min(limits.endGraceMs, 2 ** 31 - 1);
  const onError = options.onError ?? (() => {});
  const calls = createCalls();
  const { promise: closed, resolve: resolveClosed } = withResolvers<CloseReason>();
  let closing = false;
  let inputEnded = false;
  let paused = false;
  let grace: NodeJS.Timeout | undefined;

  const incoming = createIncoming({
    send: channel.send,
    maxUnanswered: limits.maxOpenRequests,
    onError,
    onIdle: () => {
      if (inputEnded) void shut("input_ended");
    },
  });
  if (options.methods) incoming.use(options.methods, options.mapError);

  /** Stops reading from a peer that sends requests and does not read the answers, so it cannot fill this process's memory. */
  function throttleInput(): void {
    if (paused || channel.bufferedBytes <= limits.pauseInputBytes) return;
    paused = true;
    channel.pause(true);
    void channel.drained().then(() => {
      paused = false;
      if (!closing) channel.pause(false);
    });
  }

  function receive(line: Line): void {
    if (closing) return;
    const frame = frameOf(line, limits.maxDepth);
    switch (frame.kind) {
      case "request":
        incoming.request(frame);
        break;
      case "response":
        calls.settle(frame);
        break;
      case "notification":
        if (frame.method === CANCEL) incoming.cancel((frame.params as { requestId?: unknown } | null)?.requestId);
        else incoming.notification(frame);
        break;
      case "invalid":
        channel.send(encodeError(frame.idText, frame));
    }
    throttleInput();
  }

  function endOfInput(): void {
    if (inputEnded) return;
    inputEnded = true;
    calls.rejectAll(new ConnectionError("closed", "The peer closed the connection"));
    if (incoming.unanswered === 0) void shut("input_ended");
    else grace = setTimeout(() => void shut("input_ended"), endGraceMs);
  }

  async function shut(reason: CloseReason): Promise<void> {
    if (closing) return;
    closing = true;
    clearTimeout(grace);
    // A peer that is alive but does not read must not keep a closed connection open.
    const stalled = setTimeout(() => resolveClosed(reason), endGraceMs);
    const error = new ConnectionError("closed", "The connection is closed");
    incoming.abortAll(error);
    calls.rejectAll(error);
    channel.pause(true);
    options.onClose?.(reason);
    // Handlers that end because of the abort can still send their answers.
    await new Promise((resolve) => setImmediate(resolve));
    await channel.close();
    clearTimeout(stalled);
    resolveClosed(reason);
  }

  channel.onLine(receive);
  channel.onClose((reason) => {
    if (reason === "input_ended") endOfInput();
    else void shut(reason);
  });

  async function call(method: string, params: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    if (closing || inputEnded) throw new ConnectionError("closed", "The connection is closed");
    if (signal?.aborted) throw new ConnectionError("aborted", "The request was aborted", { cause: signal.reason });
    const { id, answer } = calls.open(signal, (aborted) =>
      channel.send(encodeNotification(CANCEL, { requestId: aborted })),
    );
    try {
      channel.send(encodeRequest(id, method, params));
    } catch (error) {
      calls.drop(id, error as Error);
    }
    const result = await answer;
    const schema = resultSchema(options.peer, method);
    return schema ? validResult(schema, result, method) : result;
  }

  return {
    request: (method, params, { signal } = {}) => call(method, params, signal) as Promise<never>,
    notify: (method, params) => channel.send(encodeNotification(method, params)),
    notifyEncoded: channel.send,
    use: incoming.use,
    get bufferedBytes() {
      return channel.bufferedBytes;
    },
    drained: channel.drained,
    close: async () => {
      void shut("closed");
      await closed;
    },
    closed,
  };
}

// --- internal ---

const CANCEL = "$/cancel_request";

/** As of `@chimera/acp-schema/promises`: this package depends on none. */
function withResolvers<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function resultSchema(peer: Methods | undefined, method: string): StandardSchema | undefined {
  const row = peer && Object.hasOwn(peer, method) ? peer[method] : undefined;
  return row && "result" in row ? row.result : undefined;
}

async function validResult(schema: StandardSchema, result: unknown, method: string): Promise<unknown> {
  const outcome = await schema["~standard"].validate(result);
  if (!outcome.issues) return outcome.value;
  const cause = { issues: invalidPaths(outcome.issues) };
  throw new ConnectionError("invalid_result", `The peer's answer to ${method} is invalid`, { cause });
}
