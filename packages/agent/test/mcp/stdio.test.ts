import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Confine, Tool } from "../../src/index.js";
import { createToolbox } from "../../src/loop/toolbox.js";
import { deferTools } from "../../src/mcp/deferred.js";
import { type ConfiguredServer, createMcpPool, type McpPoolOptions } from "../../src/mcp/index.js";
import { builtinTools } from "../../src/tools/index.js";
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
  const pool = createMcpPool({ env: { PATH: process.env["PATH"], API_TOKEN: "s3cret" }, patienceMs: 20_000 });
  onTestFinished(() => pool.closeAll());
  const notices: string[] = [];
  const offer = (signal = new AbortController().signal, listed = servers) =>
    pool.offer({ sessionId: "s1", servers: listed, cwd: place.cwd, signal, notice: (text) => void notices.push(text) });
  const list = async (...args: Parameters<typeof offer>) => (await offer(...args)).tools;
  const tools = await list();
  const named = (name: string) => tools.find((tool) => tool.name === `mcp__my_server__${name}`) as Tool;
  return { ...place, pool, notices, offer, list, tools, named };
}

async function alive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return status !== "" && !/^State:\s+Z/m.test(status);
}

describe("a confined MCP server", () => {
  const offered = async (options: McpPoolOptions, ...servers: ConfiguredServer[]) => {
    const place = await bench();
    const pool = createMcpPool({ env: { PATH: process.env["PATH"] }, patienceMs: 20_000, ...options });
    onTestFinished(() => pool.closeAll());
    const notices: string[] = [];
    const { signal } = new AbortController();
    const notice = (text: string) => void notices.push(text);
    const { tools } = await pool.offer({ sessionId: "s1", servers, cwd: place.cwd, signal, notice });
    return { tools, notices, pool };
  };

  test("is started by the confinement, and released when it has ended", async () => {
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

  test("that is refused causes a notice", async () => {
    const { tools, notices } = await offered({ confine: () => ({ refused: "no wall here" }) }, server());
    expect(tools).toEqual([]);
    expect(notices).toEqual([expect.stringContaining("no wall here")]);
  });

  test("over HTTP is not reached when the network is closed", async () => {
    const remote: ConfiguredServer = { type: "http", name: "far", url: "http://127.0.0.1:9/", headers: {} };
    const { tools, notices } = await offered({ network: () => false }, remote);
    expect(tools).toEqual([]);
    expect(notices).toEqual([expect.stringContaining("network")]);
  });
});

describe("an MCP server over stdio", () => {
  test("offers its tools from all pages, under names that every provider accepts", async () => {
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

  test("handles calls, failures, pictures and resources", async () => {
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

  test("a changed list of tools is read again", async () => {
    const { run, named, list } = await opened(server());
    await run(named("grow"), {});
    expect((await list()).map(({ name }) => name)).toContain("mcp__my_server__grown");
  });

  test("a call of a server that dies fails, and the next turn starts the server again", async () => {
    const { run, named, list } = await opened(server());
    expect(await run(named("die"), {})).toMatchObject({ success: false, error: expect.stringContaining("is gone") });
    expect(await run(named("echo"), { text: "x" })).toMatchObject({ success: false });
    const again = (await list()).find(({ name }) => name.endsWith("echo")) as Tool;
    expect(await run(again, { text: "x" })).toMatchObject({ success: true });
  });

  test.each(["in its group", "that escaped"])(
    "a server that dies is gone at once, although a helper %s holds its stderr, and starts again",
    async (helper) => {
      const { run, named, list } = await opened(server());
      const { error = "" } = await run(named("die"), { helper });
      const pid = Number(/is gone: it ended with exit code 1: left (\d+)$/.exec(error)?.[1]);
      onTestFinished(() => void (helper === "that escaped" && process.kill(pid)));
      expect(await alive(pid)).toBe(helper === "that escaped");
      const again = (await list()).find(({ name }) => name.endsWith("echo")) as Tool;
      expect(await run(again, { text: "x" })).toMatchObject({ success: true });
    },
  );

  test("the client skips lines that are not messages", async () => {
    const { tools } = await opened(server("noisy"));
    expect(tools).toHaveLength(8);
  });
});

describe("a server that does not work causes one notice", () => {
  test.each<[string, ConfiguredServer, RegExp]>([
    ["crashes", server("crash"), /did not connect.*no luck today/],
    ["is not there", server("plain", { command: "/nowhere/at-all" } as never), /could not be started/],
    ["says nothing", server("mute", { timeoutMs: 300 }), /took too long/],
    ["asks without end and reads no answer", server("deaf"), /does not read its input/],
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

test("a server that cannot list its tools is ended each time, and tried less and less often", async () => {
  let now = 0;
  const place = await bench();
  const pool = createMcpPool({ env: { PATH: process.env["PATH"] }, patienceMs: 20_000, now: () => now });
  onTestFinished(() => pool.closeAll());
  const started = join(place.outside, "started");
  const broken = server("listless", { env: { STARTED: started } });
  const turn = async () => {
    const request = { sessionId: "s1", servers: [broken], cwd: place.cwd, signal: new AbortController().signal };
    await pool.offer({ ...request, notice: () => {} });
  };
  const pids = async () => (await readFile(started, "utf8").catch(() => "")).trim().split("\n").map(Number);
  await turn();
  await turn();
  await expect.poll(async () => (await pids()).length).toBe(2);
  for (const pid of await pids()) await expect.poll(() => alive(pid)).toBe(false);
  await turn();
  now += 29_000;
  await turn();
  expect(await pids()).toHaveLength(2);
  now += 2_000;
  await turn();
  await expect.poll(async () => (await pids()).length).toBe(3);
});

describe("a server that hangs", () => {
  test("is waited for once, and later turns do not wait", async () => {
    const place = await bench();
    const pool = createMcpPool({ env: { PATH: process.env["PATH"] }, patienceMs: 300 });
    onTestFinished(() => pool.closeAll());
    const notices: string[] = [];
    const turn = async () => {
      const began = performance.now();
      const { tools } = await pool.offer({
        sessionId: "s1",
        servers: [server("mute", { name: "hung" }), server("plain", { name: "good" })],
        cwd: place.cwd,
        signal: new AbortController().signal,
        notice: (text) => void notices.push(text),
      });
      return { tools, took: performance.now() - began };
    };
    expect((await turn()).took).toBeGreaterThanOrEqual(299);
    await expect.poll(async () => (await turn()).tools.length).toBe(8);
    expect((await turn()).took).toBeLessThan(250);
    expect(notices).toContain("The MCP server hung is still starting; its tools come with a later turn.");
    expect(new Set(notices).size).toBe(notices.length);
  });

  test("leaves a cancelled turn at once", async () => {
    const place = await bench();
    const pool = createMcpPool({ env: { PATH: process.env["PATH"] }, patienceMs: 60_000 });
    onTestFinished(() => pool.closeAll());
    const controller = new AbortController();
    const request = { sessionId: "s1", servers: [server("mute")], cwd: place.cwd, signal: controller.signal };
    const offer = pool.offer({ ...request, notice: () => {} });
    controller.abort();
    await expect(offer).rejects.toThrow();
  });
});

test("a server's instructions and resources reach the model", async () => {
  const { offer, tools, run } = await opened(server("resourceful"));
  expect((await offer()).instructions).toEqual([{ server: "my server", text: "Ask me politely." }]);
  const resource = tools.find(({ name }) => name === "mcp_resource") as Tool;
  expect(await run(resource, { server: "my server" })).toMatchObject({ success: true, output: "mem://a  A" });
  expect(await run(resource, { server: "my server", uri: "mem://a" })).toMatchObject({ output: "text of mem://a" });
  expect(await run(resource, { server: "nobody" })).toMatchObject({ success: false });
});

describe("more tools than a request should carry", () => {
  const many = Array.from({ length: 200 }, (_, n) => ({
    ...(builtinTools()[0] as Tool),
    name: `mcp__shop__item_${n}`,
    description: n === 7 ? "Refunds an order" : `Does thing ${n} in the shop, with many words about it`.repeat(5),
  }));
  const own = builtinTools();

  test("are found by a search and called by name, so that requests stay small", async () => {
    const { run } = await bench();
    const tools = deferTools([...own, ...many], (tool) => many.includes(tool));
    const declared = createToolbox(tools, null).tools;
    expect(declared.map(({ name }) => name)).toEqual([
      ...own.filter(({ deferred }) => !deferred).map(({ name }) => name),
      "search_tools",
      "use_tool",
    ]);
    expect(
      JSON.stringify(declared.map(({ description, inputSchema }) => [description, inputSchema])).length,
    ).toBeLessThan(20_000);
    const search = declared.find(({ name }) => name === "search_tools") as Tool;
    const { output } = await run(search, { query: "refund an order" });
    expect(output.split("\n")[0]).toBe("mcp__shop__item_7");
    expect((await run(search, { query: "zzz" })).output).toContain("shop (200 tools)");
  });

  test("few tools stay unchanged", () => {
    expect(deferTools(own, () => true)).toEqual(own);
  });
});

test("a tool with a nonsensical description stays usable, with a text and a schema that every provider accepts", async () => {
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
