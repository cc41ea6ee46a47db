/** A proxy to a database with which a test can cut connections, stall them or drop replies. */
import { connect, createServer, type Socket } from "node:net";

export interface Cable {
  /** The server's address with this cable in the place of its host and port. */
  readonly url: string;
  /** Cuts every connection. */
  cut(): void;
  /** Cuts a connection when the server next answers on it: the statement is done, and its reply is lost. */
  swallowReply(): void;
  /** Stops all data in both directions without closing a connection. */
  hold(): void;
  resume(): void;
  close(): Promise<void>;
}

export async function startCable(address: string): Promise<Cable> {
  const target = new URL(address);
  const pairs = new Set<{ client: Socket; upstream: Socket }>();
  let swallowed = 0;
  let isHeld = false;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const pair = { client, upstream };
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on("error", end).on("close", end);
    client.on("data", (bytes) => upstream.write(bytes));
    upstream.on("data", (bytes) => {
      if (swallowed === 0) return client.write(bytes);
      swallowed -= 1;
      end();
    });
    if (isHeld) for (const socket of [client, upstream]) socket.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(address);
  url.port = String((server.address() as { port: number }).port);
  const each = (work: (socket: Socket) => void) => {
    for (const { client, upstream } of pairs) for (const socket of [client, upstream]) work(socket);
  };
  return {
    url: url.href,
    cut: () => each((socket) => socket.destroy()),
    swallowReply() {
      swallowed += 1;
    },
    hold() {
      isHeld = true;
      each((socket) => socket.pause());
    },
    resume() {
      isHeld = false;
      each((socket) => socket.resume());
    },
    close: async () => {
      each((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
