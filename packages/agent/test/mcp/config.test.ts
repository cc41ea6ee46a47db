import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadMcpConfig, mcpToolName, parseMcpConfig } from "../../src/mcp/index.js";
import { bench } from "../tools/bench.js";

const local = (name: string, command: string) => ({ type: "stdio", name, command, args: [], env: {} });

describe("MCP configuration", () => {
  test.each<[string, unknown, unknown[]]>([
    [
      "mcp, local with a list",
      { mcp: { a: { type: "local", command: ["npx", "-y", "x"], environment: { K: "v", n: 1 } } } },
      [{ type: "stdio", name: "a", command: "npx", args: ["-y", "x"], env: { K: "v" } }],
    ],
    [
      "mcpServers, command and args",
      { mcpServers: { a: { command: "run", args: ["x"], env: { K: "v" } } } },
      [{ type: "stdio", name: "a", command: "run", args: ["x"], env: { K: "v" } }],
    ],
    [
      "servers, remote",
      { servers: { a: { type: "remote", url: "https://x/mcp", headers: { h: "1" }, timeout: 5 } } },
      [{ type: "http", name: "a", url: "https://x/mcp", headers: { h: "1" }, timeoutMs: 5 }],
    ],
    ["a bare map", { a: { command: "run" }, $schema: "x" }, [local("a", "run")]],
    [
      "a time-out of 30 days",
      { mcp: { a: { command: "run", timeout: 2_592_000_000 } } },
      [{ ...local("a", "run"), timeoutMs: 2_592_000_000 }],
    ],
    ["switched off", { mcp: { a: { command: "run", enabled: false } } }, []],
    [
      "SSE is kept to be reported",
      { mcp: { a: { type: "sse", url: "http://x/" } } },
      [{ type: "sse", name: "a", url: "http://x/", headers: {} }],
    ],
  ])("%s", (_, document, servers) => {
    expect(parseMcpConfig(JSON.stringify(document), "f")).toEqual({ servers, notices: [] });
  });

  test.each([
    ["not JSON", "{"],
    ["a file address", '{"mcp":{"a":{"url":"file:///etc"}}}'],
    ["nothing to start", '{"mcp":{"a":{}}}'],
    ["no object", '{"mcp":{"a":7}}'],
    ["a time-out below 0", '{"mcp":{"a":{"command":"run","timeout":-1}}}'],
    ["a time-out of 0", '{"mcp":{"a":{"command":"run","timeout_ms":0}}}'],
    ["a time-out without an end", '{"mcp":{"a":{"command":"run","timeout":1e999}}}'],
    ["a time-out in words", '{"mcp":{"a":{"url":"https://x/","timeout":"5000"}}}'],
  ])("%s causes a notice", (_, text) => {
    expect(parseMcpConfig(text, "f")).toEqual({ servers: [], notices: [expect.stringContaining("f")] });
  });

  test("reads the user's file, the project's file only when trusted, and a named file last", async () => {
    const { cwd, outside: home } = await bench();
    const put = async (path: string, servers: unknown) => {
      await mkdir(join(path, ".."), { recursive: true });
      await writeFile(path, JSON.stringify({ mcp: servers }));
    };
    await put(join(home, ".opencode/config.json"), { user: { command: "u" }, both: { command: "u" } });
    await put(join(cwd, ".opencode/config.json"), { ignored: { command: "i" } });
    await put(join(cwd, ".opencode/mcp.json"), { project: { command: "p" } });
    await put(join(home, "extra.json"), { both: { command: "x" } });
    const careful = await loadMcpConfig({ home, cwd, file: join(home, "extra.json") });
    expect(careful.servers).toEqual([local("user", "u"), local("both", "x")]);
    expect(careful).toMatchObject({ notices: [], untrusted: [`the MCP server project of ${cwd}`] });
    const trusting = await loadMcpConfig({ home, cwd, trusted: true });
    expect(trusting.servers.map(({ name }) => name)).toEqual(["user", "both", "project"]);
    expect(await loadMcpConfig({ home: cwd, cwd: home, file: join(home, "none.json"), trusted: true })).toMatchObject({
      notices: [expect.stringContaining("cannot be read")],
    });
  });

  test("a project's file is read only as a file of the project", async () => {
    const { cwd, outside: home } = await bench();
    await mkdir(join(cwd, ".opencode"));
    // Reading to its end would use up the memory.
    await symlink("/dev/zero", join(cwd, ".opencode/mcp.json"));
    await writeFile(join(cwd, ".opencode/config.json"), '{"mcp":{"a":{"command":"run"}}}');
    expect(await loadMcpConfig({ home, cwd, trusted: true })).toEqual({
      servers: [local("a", "run")],
      notices: [],
      untrusted: [],
    });
  });

  test("names fit every provider and stay distinct", () => {
    expect(mcpToolName("my server", "do.it")).toBe("mcp__my_server__do_it");
    const long = [mcpToolName("s", "x".repeat(90)), mcpToolName("s", "x".repeat(91))];
    expect(new Set(long).size).toBe(2);
    for (const name of long) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });
});
