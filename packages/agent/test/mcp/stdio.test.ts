import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Confine, Tool } from "../../src/index.js";
import { type ConfiguredServer, createMcpPool, type McpPoolOptions } from "../../src/mcp/index.js";
import { bench } from "../tools/bench.js";

const SERVER = fileURLToPath(new URL("./fixtures/server.mjs", import.meta.url));

function server(behaviour = "plain", more: Partial<ConfiguredServer> = {}): ConfiguredServer {
  return {
    type: "stdio",
    name: "my server",
    command: process.execPath,
    args: [SERVER, behaviour],
    env: { OWN: "given" },
    ...more,
  } as ConfiguredServer;
}

async function opened(...servers: ConfiguredServer[]) {
  const place = await bench();
  const pool = createMcpPool({ env: { PATH: process.env["PATH"], API_TOKEN: "s3cret" } });
  onTestFinished(() => pool.closeAll());
  const notices: string[] = [];
  const list = (signal = new AbortController().signal, listed = servers) =>
    pool.tools({ sessionId: "s1", servers: listed, cwd: place.cwd, signal, notice: (text) => void notices.push(text) });
  const tools = await list();
  const named = (name: string) => tools.find((tool) => tool.name === `mcp__my_server__${name}`) as Tool;
  return { ...place, pool, notices, list, tools, named };
}

async function alive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return status !== "" && !/^State:\s+Z/m.test(status);
}

describe("a confined MCP server", () => {
  const offered = async (options: McpPoolOptions, ...servers: ConfiguredServer[]) => {
    const place = await bench();
    const pool = createMcpPool({ env: { PATH: process.env["PATH"] }, ...options });
    onTestFinished(() => pool.closeAll());
    const notices: string[] = [];
    const { signal } = new AbortController();
    const notice = (text: string) => void notices.push(text);
    const tools = await pool.tools({ sessionId: "s1", servers, cwd: place.cwd, signal, notice });
    return { tools, notices, pool };
  };

  test("is started as the confinement says, and released when it has ended", async () => {
    let released = 0;
    const confine: Confine = ({ command, env }) => ({
      file: "/bin/sh",
      args: ["-c", command],
      env: { PATH: process.env["PATH"] ?? "", ...env },
      release: () => void released++,
    });
    const { tools, pool } = await offered({ confine }, server());
    expect(tools).toHaveLength(8);
    await pool.closeAll();
    await vi.waitFor(() => expect(released).toBe(1));
  });

  test("that is refused costs a notice", async () => {
    const { tools, notices } = await offered({ confine: () => ({ refused: "no wall here" }) }, server());
    expect(tools).toEqual([]);
    expect(notices).toEqual([expect.stringContaining("no wall here")]);
  });

  test("is not reached over a network that is closed", async () => {
    const remote: ConfiguredServer = { type: "http", name: "far", url: "http://127.0.0.1:9/", headers: {} };
    const { tools, notices } = await offered({ network: () => false }, remote);
    expect(tools).toEqual([]);
    expect(notices).toEqual([expect.stringContaining("network")]);
  });
});

describe("an MCP server over stdio", () => {
  test("its tools, from all pages, under names every provider takes", async () => {
    const { tools, named } = await opened(server());
    expect(tools).toHaveLength(8);
    expect(named("echo")).toMatchObject({
      kind: "other",
      parallel: false,
      description: "Says it again",
      inputSchema: { type: "object", properties: { text: { type: "string" } } },
    });
    expect(named("fail").inputSchema).toEqual({ type: "object" });
  });

  test("calls, failures, pictures and resources", async () => {
    const { run, named, cwd } = await opened(server());
    expect(await run(named("echo"), { text: "hi" })).toEqual({ success: true, output: "echo: hi" });
    expect(await run(named("fail"), {})).toEqual({ success: false, output: "it went wrong", error: "it went wrong" });
    expect(await run(named("picture"), {})).toEqual({
      success: true,
      output: "[image]\n[resource: file:///x]\ninside",
      images: [{ mimeType: "image/png", data: "AAAA" }],
    });
    expect((await run(named("roots"), {})).output).toContain(`file://${cwd}`);
  });

  test("its environment is its own and holds no secret", async () => {
    const { run, named } = await opened(server());
    const { output } = await run(named("environment"), {});
    expect(output).toContain('"own":"given"');
    expect(output).not.toContain("API_TOKEN");
  });

  test("progress is shown, and an abort leaves the server usable", async () => {
    const { run, named, events } = await opened(server());
    const controller = new AbortController();
    const slow = run(named("slow"), {}, { signal: controller.signal });
    await expect
      .poll(() => events)
      .toContainEqual({ type: "tool_progress", metadata: { call_id: "call-1", stream: "stdout", chunk: "working\n" } });
    controller.abort();
    await expect(slow).rejects.toThrow();
    expect(await run(named("echo"), { text: "still here" })).toMatchObject({ success: true });
  });

  test("a changed list is asked for again", async () => {
    const { run, named, list } = await opened(server());
    await run(named("grow"), {});
    expect((await list()).map(({ name }) => name)).toContain("mcp__my_server__grown");
  });

  test("a server that dies answers its call with an error and is started again by the next turn", async () => {
    const { run, named, list } = await opened(server());
    expect(await run(named("die"), {})).toMatchObject({ success: false, error: expect.stringContaining("is gone") });
    expect(await run(named("echo"), { text: "x" })).toMatchObject({ success: false });
    const again = (await list()).find(({ name }) => name.endsWith("echo")) as Tool;
    expect(await run(again, { text: "x" })).toMatchObject({ success: true });
  });

  test("lines that are no messages are passed over", async () => {
    const { tools } = await opened(server("noisy"));
    expect(tools).toHaveLength(8);
  });
});

describe("a server that does not work costs a notice, once", () => {
  test.each<[string, ConfiguredServer, RegExp]>([
    ["crashes", server("crash"), /did not connect.*no luck today/],
    ["is not there", server("plain", { command: "/nowhere/at-all" } as never), /could not be started/],
    ["says nothing", server("mute", { timeoutMs: 300 }), /took too long/],
    ["asks without end and reads no answer", server("deaf"), /does not read what it is sent/],
    [
      "speaks SSE",
      { type: "sse", name: "old", url: "http://127.0.0.1:1/", headers: {} },
      /SSE transport is not supported/,
    ],
  ])("%s", async (_, broken, notice) => {
    const { tools, notices, list } = await opened(broken, server("plain", { name: "good" }));
    expect(tools).toHaveLength(8);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(notice);
    await list();
    expect(notices).toHaveLength(1);
  });
});

test("a server that cannot say what it offers is ended, and not left for each turn to start another", async () => {
  const { notices, list } = await opened(server("listless"));
  await list();
  const pids = notices.map((notice) => Number(/no list from (\d+)/.exec(notice)?.[1]));
  expect(pids).toHaveLength(2);
  for (const pid of pids) await expect.poll(() => alive(pid)).toBe(false);
});

test("a tool that is described in nonsense is still a tool, under words and a schema that every provider takes", async () => {
  const { tools } = await opened(server("odd"));
  expect(tools).toMatchObject([
    { name: "mcp__my_server__a", description: "a of the MCP server my server", inputSchema: { type: "object" } },
  ]);
  expect(JSON.stringify(tools[0]?.inputSchema)).toBe('{"type":"object"}');
});

test("closing a session ends its servers with their children, and only those", async () => {
  const { pool, tools, list } = await opened(server("stubborn"));
  const pids = (tools[0]?.name.match(/\d+/g) ?? []).map(Number);
  expect(await alive(pids[0] as number)).toBe(true);
  await pool.close("another session");
  expect(await alive(pids[0] as number)).toBe(true);
  await pool.close("s1");
  for (const pid of pids) await expect.poll(() => alive(pid)).toBe(false);
  const restarted = await list();
  const again = (restarted[0]?.name.match(/\d+/g) ?? []).map(Number);
  await list(undefined, []);
  for (const pid of again) await expect.poll(() => alive(pid)).toBe(false);
});
