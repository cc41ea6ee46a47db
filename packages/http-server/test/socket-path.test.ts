// Connections of a Unix socket that say nothing: they belong to neither protocol yet, and the server must still end them.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LIMITS } from "../src/index.js";
import { listen } from "../src/node.js";

/** A server on a Unix socket that greets in both protocols. */
async function serve() {
  const root = mkdtempSync(join(tmpdir(), "socket-path-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const path = join(root, "s.sock");
  const app = { fetch: () => new Response("ok") };
  const listening = await listen(app, { path, onLines: (socket) => socket.end("{}\n", () => void socket.destroy()) });
  onTestFinished(() => listening.close());
  const enter = async (): Promise<Socket> => {
    const socket = connect({ path, allowHalfOpen: true });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return socket;
  };
  const held = () =>
    new Promise<number>((resolve, reject) =>
      listening.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
  return { listening, enter, held };
}

const hear = async (socket: Socket, text: string): Promise<string> => {
  socket.write(text);
  return String((await once(socket, "data"))[0]);
};
const HTTP = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

test("a client that ends its half and has said nothing is let go", async () => {
  const { enter, held } = await serve();
  const half = await enter();
  const left = once(half.resume().end(), "close");
  const gone = await enter();
  gone.destroy();
  await left;
  await expect.poll(held).toBe(0);
});

test("clients that say nothing do not hold up the server's close", async () => {
  const { listening, enter, held } = await serve();
  const [quiet, half] = [await enter(), await enter()];
  half.end();
  await expect.poll(held).toBe(1);
  const left = once(quiet.resume(), "end");
  const began = performance.now();
  await listening.close();
  await left;
  expect(performance.now() - began).toBeLessThan(LIMITS.stopMs / 2);
});

test("clients that say nothing count as connections, and the one that has waited longest makes room", async () => {
  const { enter, held } = await serve();
  const first = await enter();
  const left = once(first.resume(), "end");
  for (let more = 1; more < LIMITS.connections; more++) await enter();
  expect(await held()).toBe(LIMITS.connections);
  expect(await hear(await enter(), HTTP)).toContain("200 OK");
  await left;
});

test("a client may take its time before its first byte, in both protocols", async () => {
  const { enter } = await serve();
  const [http, lines] = [await enter(), await enter()];
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await hear(http, HTTP)).toContain("200 OK");
  expect(await hear(lines, "{")).toBe("{}\n");
});
