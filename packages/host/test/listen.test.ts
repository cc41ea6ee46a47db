// `--listen`: one program serves every address with the same sessions, also the addresses of the short flags.
import { once } from "node:events";
import { existsSync, lstatSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeHome, type Running, run, start } from "./program.js";

const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } };

function overSocket(path: string, target: string, method = "GET", headers: Record<string, string> = {}) {
  return new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    const asked = request({ socketPath: path, path: target, method, headers }, (incoming) => {
      let body = "";
      incoming.setEncoding("utf8").on("data", (text) => {
        body += text;
      });
      incoming.on("end", () => resolve({ status: incoming.statusCode, body }));
    });
    asked.on("error", reject).end(method === "POST" ? "{}" : undefined);
  });
}

/** Sends lines to a socket and returns its first line. */
function speak(path: string, ...messages: object[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => socket.write(messages.map((each) => `${JSON.stringify(each)}\n`).join("")));
    onTestFinished(() => void socket.destroy());
    let text = "";
    socket.on("error", reject).on("data", (bytes) => {
      text += bytes;
      if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")));
    });
  });
}

async function urlsOf(server: Running, count: number): Promise<string[]> {
  const found = () => [...server.said().stderr.matchAll(/listening on (\S+)/g)].map(([, url]) => url ?? "");
  await expect.poll(found, { timeout: 30_000 }).toHaveLength(count);
  return found();
}

describe("several addresses", { timeout: 60_000 }, () => {
  it("share their sessions, are each listed, and stop with one signal", async () => {
    const home = await makeHome();
    const path = join(home, "o.sock");
    const places = ["stdio:", "http://127.0.0.1:0", `unix:${path}`, "http://127.0.0.1:0"];
    const server = start(home, ["serve", ...places.flatMap((place) => ["--listen", place]), "--model", "offline"]);
    const [one, socket, other] = await urlsOf(server, 3);
    expect(socket).toBe(`unix:${path}`);
    expect(lstatSync(path).mode & 0o777).toBe(0o600);

    const made = JSON.parse((await overSocket(path, "/session", "POST", { "content-type": "application/json" })).body);
    for (const url of [one, other]) {
      const { sessions } = (await (await fetch(`${url}/sessions`)).json()) as { sessions: { session_id: string }[] };
      expect(sessions.map(({ session_id }) => session_id)).toEqual([made.session_id]);
    }
    const named = { sessionId: made.session_id, cwd: home, mcpServers: [] };
    server.child.stdin?.write(`${JSON.stringify(hello)}\n`);
    server.child.stdin?.write(`${JSON.stringify({ ...hello, id: 2, method: "session/load", params: named })}\n`);
    await expect.poll(() => server.said().stdout, { timeout: 20_000 }).toContain('"id":2,"result"');

    const { stdout } = await run(home, ["serve", "status"]);
    expect(stdout.trim().split("\n")).toEqual([
      expect.stringContaining(`port=`),
      expect.stringContaining(`port=`),
      expect.stringContaining(`otter socket=${path} pid=${server.child.pid} alive=yes`),
    ]);
    expect(await run(home, ["serve", "stop"])).toMatchObject({ code: 0 });
    expect(await server.ended).toMatchObject({ code: 0 });
    expect(existsSync(path)).toBe(false);
    expect((await run(home, ["serve", "status"])).stdout).toBe("");
  });

  it("all fail when one of them is in use", async () => {
    const home = await makeHome();
    const path = join(home, "o.sock");
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as { port: number };
    const { code, stderr } = await run(home, [
      "serve",
      "--listen",
      `unix:${path}`,
      "--listen",
      `http://127.0.0.1:${port}`,
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain(`cannot listen on 127.0.0.1:${port}: another program has port ${port}`);
    expect(existsSync(path)).toBe(false);
    expect((await run(home, ["serve", "status"])).stdout).toBe("");
  });
});

describe("a Unix socket", { timeout: 60_000 }, () => {
  it("needs no token from its own user, checks one that is sent, and speaks ACP in lines", async () => {
    const home = await makeHome();
    const path = join(home, "o.sock");
    const server = start(home, ["serve", "--listen", `unix:${path}`], { env: { OTTER_SERVER_TOKEN: "secret" } });
    await urlsOf(server, 1);
    expect(await overSocket(path, "/sessions")).toMatchObject({ status: 200 });
    expect(await overSocket(path, "/sessions", "GET", { authorization: "Bearer wrong" })).toMatchObject({
      status: 401,
    });
    expect(await overSocket(path, "/sessions", "GET", { host: "evil.example" })).toMatchObject({ status: 403 });
    expect(JSON.parse(await speak(path, hello))).toMatchObject({ id: 1, result: { agentInfo: { name: "otter" } } });
    // Send the request in two pieces, the first byte alone.
    const slow = new Promise<string>((resolve, reject) => {
      const socket = connect(path, () => {
        socket.write("{");
        setTimeout(() => socket.write(`${JSON.stringify(hello).slice(1)}\n`), 100);
      });
      socket.on("error", reject).once("data", (bytes) => resolve(String(bytes)));
      onTestFinished(() => void socket.destroy());
    });
    expect(await slow).toContain('"id":1,"result"');
  });

  it("ends `acp --connect` whose client leaves without a word, and nobody who says nothing holds up a stop", async () => {
    const home = await makeHome();
    const path = join(home, "o.sock");
    const server = start(home, ["serve", "--listen", `unix:${path}`]);
    await urlsOf(server, 1);
    expect(await run(home, ["acp", "--connect", `unix:${path}`])).toMatchObject({ code: 0, stdout: "" });
    const quiet = connect(path);
    onTestFinished(() => void quiet.destroy());
    await once(quiet, "connect");
    const began = performance.now();
    server.child.kill("SIGTERM");
    expect(await server.ended).toMatchObject({ code: 0 });
    expect(performance.now() - began).toBeLessThan(4000);
  });

  it("answers the prompts of its clients as cancelled when a stop cancels their turns", async () => {
    const home = await makeHome();
    const path = join(home, "o.sock");
    const server = start(home, ["serve", "--listen", `unix:${path}`, "--model", "offline", "--mode", "auto"]);
    await urlsOf(server, 1);
    const socket = connect(path);
    onTestFinished(() => void socket.destroy());
    let text = "";
    socket.setEncoding("utf8").on("data", (piece) => {
      text += piece;
    });
    const send = (id: number, method: string, params: object) =>
      socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    socket.write(`${JSON.stringify(hello)}\n`);
    send(2, "session/new", { cwd: home, mcpServers: [] });
    await expect.poll(() => text, { timeout: 20_000 }).toContain('"id":2,"result"');
    const { sessionId } = JSON.parse(/^.*"id":2,"result".*$/m.exec(text)![0]).result;
    const command = join(home, "command");
    send(3, "session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: `run \`: > ${command}; exec sleep 600\`` }],
    });
    await expect.poll(() => existsSync(command), { timeout: 20_000 }).toBe(true);
    const closed = once(socket, "close");
    server.child.kill("SIGTERM");
    expect(await server.ended).toMatchObject({ code: 0 });
    await closed;
    expect(JSON.parse(/^.*"id":3,.*$/m.exec(text)![0])).toMatchObject({ result: { stopReason: "cancelled" } });
  });

  it("left by a killed server is replaced; one that answers, or any other file, is not", async () => {
    const home = await makeHome();
    const path = join(home, "o.sock");
    const first = start(home, ["serve", "--listen", `unix:${path}`]);
    await urlsOf(first, 1);
    first.child.kill("SIGKILL");
    await first.ended;
    expect(existsSync(path)).toBe(true);
    const second = start(home, ["serve", "--listen", `unix:${path}`]);
    await urlsOf(second, 1);
    expect(await overSocket(path, "/healthz")).toMatchObject({ status: 200 });
    // A server of another home does not see the pidfile of the first.
    const third = await run(await makeHome(), ["serve", "--listen", `unix:${path}`]);
    expect(third).toMatchObject({ code: 1, stderr: expect.stringContaining(`another program listens on ${path}`) });
    const same = await run(home, ["serve", "--listen", `unix:${path}`]);
    expect(same).toMatchObject({ code: 2, stderr: expect.stringContaining(`already running on socket ${path}, PID`) });
    expect(await overSocket(path, "/healthz")).toMatchObject({ status: 200 });
    const file = join(home, "notes.txt");
    writeFileSync(file, "mine");
    const foreign = await run(home, ["serve", "--listen", `unix:${file}`]);
    expect(foreign).toMatchObject({ code: 1, stderr: expect.stringContaining("is not a socket") });
    expect(lstatSync(file).isFile()).toBe(true);
  });
});

describe("an invalid address", () => {
  it.each([
    [["--listen", "ftp://x:1"], "--listen takes stdio:, http://host:port, https://host:port or unix:/path"],
    [["--listen", "http://127.0.0.1"], "--listen takes"],
    [["--listen", "http://127.0.0.1:70000"], "--listen takes"],
    [["--listen", "http://127.0.0.1:1/path"], "--listen takes"],
    [["--listen", "unix:"], "--listen takes"],
    [["--listen", `unix:/${"x".repeat(120)}`], "too long for a socket"],
    [["--listen", "https://127.0.0.1:0"], "https://127.0.0.1:0 needs --tls-cert and --tls-key"],
    [["--listen", "http://0.0.0.0:0"], "http://0.0.0.0:0 is not loopback: set OTTER_SERVER_TOKEN"],
    [["--listen", "stdio:", "--acp"], "cannot listen on stdio: twice"],
    [["--listen", "unix:/tmp/x", "--port", "1"], "--port goes with --http"],
    [["--listen", "unix:/tmp/x", "--open"], "needs a port"],
  ])("%j is one line and exit 2", async (args, expected) => {
    const { code, stdout, stderr } = await run(await makeHome(), ["serve", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.trim().split("\n")).toEqual([expect.stringContaining(expected)]);
  });
});
