/** A model on loopback that sends a vendor's wire format, byte for byte as the test gives it. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface WireReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Written one after the other, each in its own pass of the event loop. */
  readonly writes?: readonly (string | Uint8Array)[];
  /** What happens after the writes. @defaultValue end */
  readonly after?: "end" | "cut" | "hang";
}

export interface WireServer {
  readonly url: string;
  readonly requests: { path: string; headers: IncomingHttpHeaders; body: Record<string, unknown> }[];
  /** All connections so far. */
  readonly connections: () => number;
  /** Connections that are open now. */
  readonly open: () => number;
}

/** Answers the nth request with the nth reply, and all further requests with the last one. */
export async function serveWire(replies: readonly WireReply[]): Promise<WireServer> {
  const requests: WireServer["requests"] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { url: path = "", headers } = incoming;
    // Requests for the list of models are not part of a conversation.
    if (path === "/api/show") return void outgoing.writeHead(200).end("{}");
    if (incoming.method === "GET") return void outgoing.writeHead(404).end("{}");
    requests.push({ path, headers, body: JSON.parse(Buffer.concat(chunks).toString() || "{}") });
    const reply = replies[Math.min(requests.length, replies.length) - 1] as WireReply;
    const { status = 200, writes = [], after = "end" } = reply;
    outgoing.writeHead(status, {
      "content-type": status === 200 ? "text/event-stream" : "application/json",
      ...reply.headers,
    });
    outgoing.flushHeaders();
    for (const bytes of writes) {
      outgoing.write(bytes);
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (after === "end") outgoing.end();
    if (after === "cut") outgoing.destroy();
  });
  server.on("connection", (socket) => {
    connections++;
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, requests, connections: () => connections, open: () => sockets.size };
}
