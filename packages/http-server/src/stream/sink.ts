/** The output of an event stream: Node's response under Node, else a web stream. */
import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { withResolvers } from "@chimera/acp-schema/promises";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context } from "hono";
import type { AppEnv } from "../deps.js";
import { allowedOrigin, SECURITY_HEADERS } from "../guard/headers.js";
import { LIMITS } from "../limits.js";

export interface Sink {
  /** Returns a promise only if the peer is slow: it resolves when the peer has taken enough, or has gone. */
  write(bytes: Buffer): void | Promise<void>;
  /** Writes memory of the caller. Resolves when the caller may use the memory again: the peer has taken it all, or has gone. */
  writeLent(memory: Buffer): Promise<void>;
  end(): void;
  /** Resolves when the peer has gone, or when it was dropped because it took nothing for too long. */
  readonly gone: Promise<void>;
  readonly response: Response;
}

export const STREAM_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  "X-Accel-Buffering": "no",
} as const;

/** Begins an event stream. Writes comments while it is quiet, because proxies close a connection without traffic. */
export function openSink(c: Context<AppEnv>): Sink {
  const headers = { ...SECURITY_HEADERS, ...allowedOrigin(c.req.header("origin")) };
  const outgoing = c.env?.outgoing;
  const sink = outgoing ? nodeSink(outgoing, headers) : webSink(headers);
  // A comment must not come between the pieces of an unfinished write.
  let unfinished = 0;
  const counted = <W extends void | Promise<void>>(written: W): W => {
    if (written instanceof Promise) {
      unfinished++;
      void written.then(() => unfinished--);
    }
    return written;
  };
  const keepAlive = setInterval(() => unfinished === 0 && void sink.write(KEEP_ALIVE), LIMITS.keepAliveMs);
  void sink.gone.then(() => clearInterval(keepAlive));
  return {
    ...sink,
    write: (bytes) => counted(sink.write(bytes)),
    writeLent: (memory) => counted(sink.writeLent(memory)),
    end() {
      clearInterval(keepAlive);
      sink.end();
    },
  };
}

/** Aborts when the peer has gone or the caller's token has ended. The writer of the stream may abort it too. */
export function stopOf(c: Context<AppEnv>, { gone }: Pick<Sink, "gone">): AbortController {
  const stop = new AbortController();
  const cut = () => stop.abort();
  const { life } = c.get("caller");
  life.addEventListener("abort", cut, { once: true, signal: stop.signal });
  // The token may have ended since the request was authorized.
  if (life.aborted) cut();
  void gone.then(cut);
  return stop;
}

// --- internal ---

const KEEP_ALIVE = Buffer.from(": keep-alive\n\n");

function nodeSink(answer: ServerResponse, headers: Readonly<Record<string, string>>): Sink {
  // Over HTTP/2 a header about the connection is an error.
  const { stream } = answer as { stream?: Writable };
  // Over HTTP/1.1 the stream ends with its connection, so the body needs no chunked encoding.
  if (!stream) answer.useChunkedEncodingByDefault = false;
  answer.writeHead(200, { ...STREAM_HEADERS, ...(!stream && { Connection: "keep-alive" }), ...headers });
  const outgoing: Writable = stream ?? answer;
  // The headers are sent together with the first records: a peer that sees the headers has then been added as a reader.
  outgoing.cork();
  answer.flushHeaders();
  setImmediate(() => outgoing.uncork());
  // A write after the peer has gone emits an error. It is ignored, because `close` follows.
  outgoing.on("error", () => {});

  /** Resolves when the peer has read more or has gone. Drops a peer that does neither for too long. */
  const progress = (listen: (done: () => void) => void) =>
    new Promise<void>((resolve) => {
      const stalled = setTimeout(() => outgoing.destroy(), LIMITS.stallMs);
      const done = () => {
        clearTimeout(stalled);
        outgoing.off("drain", done).off("close", done);
        resolve();
      };
      outgoing.once("close", done);
      listen(done);
    });
  /** Writes in pieces, so that a slow peer shows progress and a stalled peer holds little memory. */
  const writeFrom = (bytes: Buffer, start: number): void | Promise<void> => {
    for (let at = start; at < bytes.length && !outgoing.destroyed; at += LIMITS.streamChunkBytes) {
      const taken = outgoing.write(bytes.subarray(at, at + LIMITS.streamChunkBytes));
      if (taken) continue;
      return progress((done) => outgoing.once("drain", done)).then(() =>
        writeFrom(bytes, at + LIMITS.streamChunkBytes),
      );
    }
  };

  return {
    response: RESPONSE_ALREADY_SENT,
    // The peer may have gone before this listener.
    gone: outgoing.destroyed ? Promise.resolve() : new Promise((resolve) => outgoing.once("close", resolve)),
    write: (bytes) => writeFrom(bytes, 0),
    async writeLent(memory) {
      for (let at = 0; at < memory.length && !outgoing.destroyed; at += LIMITS.streamChunkBytes) {
        const piece = memory.subarray(at, at + LIMITS.streamChunkBytes);
        await progress((done) => outgoing.write(piece, done));
      }
    },
    end() {
      if (outgoing.destroyed) return;
      outgoing.end();
      const stalled = setTimeout(() => outgoing.destroy(), LIMITS.stallMs);
      outgoing.once("close", () => clearTimeout(stalled));
    },
  };
}

function webSink(headers: Readonly<Record<string, string>>): Sink {
  const { promise: gone, resolve: leave } = withResolvers();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(undefined, {
    highWaterMark: LIMITS.streamChunkBytes,
    size: (chunk) => chunk.byteLength,
  });
  const writer = writable.getWriter();
  writer.closed.then(leave, leave);
  const write = (bytes: Buffer): void | Promise<void> => {
    writer.write(bytes).catch(leave);
    if ((writer.desiredSize ?? 1) > 0) return;
    const stalled = setTimeout(() => void writer.abort().catch(() => {}), LIMITS.stallMs);
    return writer.ready.catch(() => {}).finally(() => clearTimeout(stalled));
  };
  return {
    response: new Response(readable, { headers: { ...STREAM_HEADERS, ...headers } }),
    gone,
    write,
    // The reader of the web stream keeps the bytes, so it gets a copy.
    writeLent: async (memory) => write(Buffer.from(memory)),
    end: () => void writer.close().catch(leave),
  };
}
