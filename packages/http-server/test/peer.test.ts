// Who is at the other end of a loopback connection, by each way in which Linux says so.

import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createOwnUserCheck } from "../src/auth/peer.js";
import { startAskingKernel } from "../src/auth/socket-diag.js";

async function listening(host: string): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { server, port: (server.address() as { port: number }).port };
}

/** The server's end of a new connection. */
async function connection(server: Server, host: string, port: number): Promise<{ client: Socket; socket: Socket }> {
  const client = connect(port, host);
  const [socket] = (await once(server, "connection")) as [Socket];
  onTestFinished(() => void client.destroy());
  return { client, socket };
}

const silent = () => ({ ask: async () => null, end: () => {} });
const mistaken = () => ({ ask: async () => 12_345, end: () => {} });

describe("the peer of a connection", { tags: ["needs-linux"] }, () => {
  const ways = [
    ["by asking for its socket", undefined],
    ["in the list of all sockets", silent],
    ["in the list, when what is asked does not know this server", mistaken],
    ["in the list, where there is no perl", () => startAskingKernel("/no/such/perl")],
    ["in the list, when perl ends at once", () => startAskingKernel("/bin/true")],
  ] as const;

  test.each(ways)("is known %s", async (_, start) => {
    for (const [host, from] of [
      ["127.0.0.1", "127.0.0.1"],
      ["127.0.0.1", "::ffff:127.0.0.1"],
      ["::1", "::1"],
    ] as const) {
      const { server, port } = await listening(host);
      const isOwnUser = await createOwnUserCheck(server, start);
      const made = await Promise.all([1, 2, 3].map(() => connection(server, from, port)));
      expect(await Promise.all(made.map(({ socket }) => isOwnUser!(socket)))).toEqual([true, true, true]);
    }
  });

  test("is looked up by both ends: a listener on the peer's port is not the peer", async () => {
    const { server, port } = await listening("127.0.0.1");
    const { ask, end } = startAskingKernel();
    onTestFinished(end);
    const { socket } = await connection(server, "127.0.0.1", port);
    const local = { address: socket.localAddress!, port: socket.localPort! };
    const remote = { address: socket.remoteAddress!, port: socket.remotePort! };
    expect(await ask(remote, local)).toBe(process.getuid?.());
    expect(await ask(local, { address: "0.0.0.0", port: 0 })).toBe(process.getuid?.());
    // The server's own port, towards an end that nobody connected from.
    expect(await ask(local, { ...remote, port: 1 })).toBeUndefined();
  });

  test("is not found after it has gone", async () => {
    const { server, port } = await listening("127.0.0.1");
    const isOwnUser = await createOwnUserCheck(server);
    const { client, socket } = await connection(server, "127.0.0.1", port);
    const closed = new Promise((resolve) => socket.on("error", () => {}).once("close", resolve));
    socket.resume();
    client.on("error", () => {}).resetAndDestroy();
    await closed;
    expect(await isOwnUser!(socket)).toBe(false);
  });
});
