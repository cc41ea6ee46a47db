/** Where an event stream is written: straight to Node's response where there is one, else into a web stream. */
import type { ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";

export interface Sink {
  /** Resolves when the peer has taken enough to go on. */
  write(bytes: Uint8Array): void | Promise<void>;
  end(): void;
  /** Resolves when the peer has gone. */
  readonly gone: Promise<void>;
  readonly response: Response;
}

export const STREAM_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  Connection: "keep-alive",
  "X-Accel-Buffering": "no",
} as const;

export function openSink(outgoing: ServerResponse | undefined): Sink {
  return outgoing ? nodeSink(outgoing) : webSink();
}

// --- internal ---

function nodeSink(outgoing: ServerResponse): Sink {
  outgoing.writeHead(200, STREAM_HEADERS);
  outgoing.flushHeaders();
  return {
    response: RESPONSE_ALREADY_SENT,
    gone: new Promise((resolve) => outgoing.once("close", resolve)),
    write(bytes) {
      if (outgoing.write(bytes)) return;
      return new Promise((resolve) => {
        const done = () => {
          outgoing.off("drain", done).off("close", done);
          resolve();
        };
        outgoing.once("drain", done).once("close", done);
      });
    },
    end: () => void outgoing.end(),
  };
}

function webSink(): Sink {
  let leave = () => {};
  const gone = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  writer.closed.then(leave, leave);
  return {
    response: new Response(readable, { headers: STREAM_HEADERS }),
    gone,
    write: (bytes) => writer.write(bytes).catch(leave),
    end: () => void writer.close().catch(leave),
  };
}
