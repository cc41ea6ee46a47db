import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Tool } from "../../src/index.js";
import { createMcpPool } from "../../src/mcp/index.js";
import { bench } from "../tools/bench.js";

interface Seen {
  readonly method: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly message: { id?: number; method?: string; params?: Record<string, unknown> };
}

type Behaviour = (seen: Seen, response: ServerResponse) => void;

/** Answers with JSON; answers calls with a stream of events in pieces. */
const plain: Behaviour = ({ message }, response) => {
  const reply = (result: unknown) => JSON.stringify({ jsonrpc: "2.0", id: message.id, result });
  if (message.method === "initialize") {
    response.setHeader("mcp-session-id", "session-7");
    response.setHeader("content-type", "application/json");
    response.end(reply({ protocolVersion: "2025-03-26", capabilities: {}, serverInfo: {} }));
  } else if (message.method === "tools/list") {
    response.setHeader("content-type", "application/json; charset=utf-8");
    response.end(reply({ tools: [{ name: "echo" }] }));
  } else if (message.method === "tools/call") {
    response.setHeader("content-type", "text/event-stream");
    const text = `: hello\n\nevent: message\ndata: ${reply({ content: [{ type: "text", text: "grüße" }] })}\n\n`;
    for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
    response.end();
  } else response.writeHead(202).end();
};

async function listening(behaviour: Behaviour) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const one: Seen = {
        method: request.method,
        headers: request.headers,
        message: text === "" ? {} : JSON.parse(text),
      };
      seen.push(one);
      behaviour(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const pool = createMcpPool({ patienceMs: 20_000 });
  onTestFinished(() => pool.closeAll());
  const notices: string[] = [];
  const place = await bench();
  const list = async (more: { timeoutMs?: number } = {}) => {
    const { tools } = await pool.offer({
      sessionId: "s",
      servers: [{ type: "http", name: "web", url, headers: { authorization: "Bearer t" }, ...more }],
      cwd: place.cwd,
      signal: new AbortController().signal,
      notice: (text) => void notices.push(text),
    });
    return tools;
  };
  return { ...place, seen, pool, notices, list };
}

describe("an MCP server over HTTP", () => {
  test("gets headers, session and agreed version, may answer with JSON and event streams, and the session is deleted", async () => {
    const { list, run, seen, pool } = await listening(plain);
    const [echo] = await list();
    expect(echo?.name).toBe("mcp__web__echo");
    expect(await run(echo as Tool, { text: "x" })).toEqual({ success: true, output: "grüße" });
    await pool.close("s");
    expect(seen.map(({ method, message }) => [method, message.method])).toEqual([
      ["POST", "initialize"],
      ["POST", "notifications/initialized"],
      ["POST", "tools/list"],
      ["POST", "tools/call"],
      ["DELETE", undefined],
    ]);
    for (const { headers } of seen) expect(headers.authorization).toBe("Bearer t");
    for (const { headers } of seen.slice(1)) {
      expect(headers["mcp-session-id"]).toBe("session-7");
      expect(headers["mcp-protocol-version"]).toBe("2025-03-26");
    }
  });

  test.each<[string, Behaviour, RegExp]>([
    ["refuses", (_, response) => response.writeHead(401).end("no"), /answered 401/],
    [
      "redirects",
      (_, response) => response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(),
      /cannot be reached/,
    ],
    ["hangs up", (_, response) => response.destroy(), /cannot be reached/],
    ["answers something else", (_, response) => response.end("<html>"), /held no reply/],
  ])("a server that %s causes a notice", async (_, behaviour, notice) => {
    const { list, notices } = await listening(behaviour);
    expect(await list()).toEqual([]);
    expect(notices.join()).toMatch(notice);
  });

  test("the next turn opens a new session after the server forgot one", async () => {
    let forgetful = false;
    const { list, run, seen } = await listening((one, response) => {
      if (forgetful && one.message.method === "tools/call") {
        forgetful = false;
        response.writeHead(404).end();
      } else plain(one, response);
    });
    const [echo] = await list();
    forgetful = true;
    expect(await run(echo as Tool, {})).toMatchObject({ success: false });
    const [again] = await list();
    expect(await run(again as Tool, {})).toMatchObject({ success: true });
    expect(seen.filter(({ message }) => message.method === "initialize")).toHaveLength(2);
  });

  test("a server that does not accept the last message of the handshake causes a notice", async () => {
    const { list, notices } = await listening((seen, response) => {
      if (seen.message.method !== "notifications/initialized") plain(seen, response);
    });
    expect(await list({ timeoutMs: 200 })).toEqual([]);
    expect(notices).toEqual([expect.stringContaining("took too long")]);
  });

  test("a server that sends a request under the id of a call still answers the call", async () => {
    let answer: (() => void) | undefined;
    let pings = 0;
    const { list, run } = await listening(({ message }, response) => {
      const { id } = message;
      if (message.method === "tools/call") {
        const send = (more: object) => response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, ...more })}\n\n`);
        response.setHeader("content-type", "text/event-stream");
        answer = () => {
          if (pings++ < 5) return send({ method: "ping" });
          send({ result: { content: [{ type: "text", text: "done" }] } });
          response.end();
        };
        answer();
      } else if (message.method === undefined && id !== undefined) {
        // Our answer to a ping: the next one follows when this request is over.
        response.once("close", () => answer?.());
        response.writeHead(202).end();
      } else plain({ method: "POST", headers: {}, message }, response);
    });
    const [echo] = await list();
    expect(await run(echo as Tool, {})).toEqual({ success: true, output: "done" });
  });

  test("an error of the protocol becomes the call's result", async () => {
    const { list, run } = await listening((one, response) => {
      if (one.message.method !== "tools/call") return plain(one, response);
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({ jsonrpc: "2.0", id: one.message.id, error: { code: -32602, message: "bad arguments" } }),
      );
    });
    const [echo] = await list();
    expect(await run(echo as Tool, {})).toMatchObject({ success: false, error: "web: bad arguments" });
  });
});
