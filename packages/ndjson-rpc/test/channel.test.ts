import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";
import { expect, it, onTestFinished } from "vitest";
import {
  createClientPipeTransport,
  createServerSocketTransport,
  IPCMessageReader,
  IPCMessageWriter,
  type MessageReader,
  type MessageWriter,
  PortMessageReader,
  PortMessageWriter,
  SocketMessageReader,
  SocketMessageWriter,
} from "vscode-jsonrpc/node";
import { type Connection, createConnection, type LineChannel, streamChannel } from "../src/index.js";
import { channelConnection, messageChannel } from "../src/vscode-jsonrpc.js";

type Transport = [MessageReader, MessageWriter];

/** Serves a channel with two methods: `echo` returns its params; `count` sends numbers and then asks the client for its name. */
function serve(channel: LineChannel): Connection {
  const connection: Connection = createConnection({
    channel,
    methods: {
      echo: { handle: (params: unknown) => params },
      count: {
        handle: async ({ to }: { to: number }) => {
          for (let n = 0; n < to; n++) {
            connection.notify("number", { n });
            await connection.drained();
          }
          return { name: await connection.request("name") };
        },
      },
    } as never,
    limits: { highWaterBytes: 1024 },
  });
  return connection;
}

/** Uses the served channel through vscode-jsonrpc's own connection. */
async function drive(channel: LineChannel): Promise<void> {
  const client = channelConnection(channel);
  const numbers: number[] = [];
  client.onNotification("number", ({ n }: { n: number }) => void numbers.push(n));
  client.onRequest("name", () => "client");
  client.listen();
  expect(await client.sendRequest("echo", { text: "ä\n\u2028{}" })).toEqual({ text: "ä\n\u2028{}" });
  expect(await client.sendRequest("count", { to: 1000 })).toEqual({ name: "client" });
  expect(numbers).toEqual(Array.from({ length: 1000 }, (_, n) => n));
}

it("a connection runs over vscode-jsonrpc's socket transport", async () => {
  const port = await new Promise<number>((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
  const { createClientSocketTransport } = await import("vscode-jsonrpc/node");
  const waiting = await createClientSocketTransport(port);
  const served = serve(messageChannel(...(createServerSocketTransport(port) as Transport)));
  await drive(messageChannel(...((await waiting.onConnected()) as Transport)));
  await served.close();
});

it("a connection runs over vscode-jsonrpc's pipe transport, and sees its end", async () => {
  const folder = mkdtempSync(join(tmpdir(), "channel-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "socket");
  const waiting = await createClientPipeTransport(path);
  const socket = await new Promise<Socket>((resolve) => {
    void import("node:net").then(({ connect }) => {
      const one = connect(path, () => resolve(one));
    });
  });
  const served = serve(messageChannel(new SocketMessageReader(socket), new SocketMessageWriter(socket)));
  const client = messageChannel(...((await waiting.onConnected()) as Transport));
  await drive(client);
  await client.close();
  expect(await served.closed).toMatch(/input_ended|output_failed/);
});

it("a connection runs over vscode-jsonrpc's message ports", async () => {
  const { port1, port2 } = new MessageChannel();
  const served = serve(messageChannel(new PortMessageReader(port1), new PortMessageWriter(port1)));
  await drive(messageChannel(new PortMessageReader(port2), new PortMessageWriter(port2)));
  await served.close();
});

it("a connection runs over vscode-jsonrpc's IPC, with a process at the other end", async () => {
  const child = fork(new URL("programs/ipc-client.mjs", import.meta.url), {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  let said = "";
  child.stdout?.on("data", (chunk) => {
    said += chunk;
  });
  const served = serve(messageChannel(new IPCMessageReader(child), new IPCMessageWriter(child)));
  const code = await new Promise((resolve) => child.once("close", resolve));
  expect({ code, said }).toEqual({ code: 0, said: '{"name":"child"} 1000\n' });
  await served.close();
});

it("a connection runs over a raw socket, which keeps lines exactly as they were encoded", async () => {
  const server = createServer((socket) => void serve(streamChannel(socket, socket))).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { connect } = await import("node:net");
  const socket = connect((server.address() as { port: number }).port, "127.0.0.1");
  await drive(streamChannel(socket, socket));
  let raw = "";
  socket.on("data", (chunk) => {
    raw += chunk;
  });
  socket.write('{"jsonrpc":"2.0","id":12345678901234567890,"method":"echo"}\nnot JSON\n');
  await expect.poll(() => raw).toContain("-32700");
  expect(raw).toContain('"id":12345678901234567890,');
  socket.destroy();
  server.close();
});
