import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { boundConnections } from "../src/connections.js";

/** A server of two connections that answers `/` at once and anything else never. */
async function smallHouse() {
  const server = createServer((request, response) => {
    response.flushHeaders();
    if (request.url === "/large") response.end(Buffer.alloc(64 * 1024 * 1024));
    if (request.url === "/") response.end("ok");
  });
  boundConnections(server, 2);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return async () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    const left = new Promise((resolve) => socket.once("close", () => resolve("left")));
    await once(socket, "connect");
    return { socket, left };
  };
}

const ask = async (socket: Socket, path: string): Promise<string> => {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return String((await once(socket, "data"))[0]).slice(9, 12);
};

test("at the limit, the connection that has waited longest is closed, and one that is being answered stays", async () => {
  const enter = await smallHouse();
  const busy = await enter();
  expect(await ask(busy.socket, "/stream")).toBe("200");
  const slow = await enter();
  slow.socket.write("GET / HTTP/1.1\r\nHost: loc");
  const caller = await enter();
  expect(await ask(caller.socket, "/")).toBe("200");
  expect(await slow.left).toBe("left");
  expect(busy.socket.destroyed).toBe(false);
});

test("a connection between two requests counts as waiting since its last answer", async () => {
  const enter = await smallHouse();
  const [first, second] = [await enter(), await enter()];
  await ask(second.socket, "/");
  await ask(first.socket, "/");
  const caller = await enter();
  expect(await ask(caller.socket, "/")).toBe("200");
  expect(await second.left).toBe("left");
  expect(first.socket.destroyed).toBe(false);
});

test("if all connections are being answered, a new one is refused", async () => {
  const enter = await smallHouse();
  for (const guest of [await enter(), await enter()]) expect(await ask(guest.socket, "/stream")).toBe("200");
  const newcomer = await enter();
  expect(await newcomer.left).toBe("left");
});

test("if no connection waits for a request, one is closed that only has to read its answer", async () => {
  const enter = await smallHouse();
  const [busy, reader] = [await enter(), await enter()];
  expect(await ask(busy.socket, "/stream")).toBe("200");
  expect(await ask(reader.socket, "/large")).toBe("200");
  reader.socket.pause();
  const caller = await enter();
  expect(await ask(caller.socket, "/")).toBe("200");
  reader.socket.resume();
  expect(await reader.left).toBe("left");
  expect(busy.socket.destroyed).toBe(false);
});
