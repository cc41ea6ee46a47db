// The example of an MCP server: over HTTP, where its tool asks and is answered, and by itself, with what no client should send.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { startProgram } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";
import { startServer, until } from "./server.js";

const tool = "mcp__packages__installed_version";

test("the example's file brings its tool into a session, and a call of it asks first", async () => {
  const script = {
    turns: [
      {
        steps: [
          { reply: [{ call: tool, args: { name: "valibot" } }] },
          { expect: { result: "valibot " }, reply: [{ text: "known" }] },
        ],
      },
    ],
  };
  const model = `scripted:${scratchTree({ "script.json": script })}/script.json`;
  const surroundings = { cwd: repositoryRoot };
  const server = await startServer(["--mcp", "examples/mcp-server/mcp.json", "--model", model], {}, surroundings);
  const { body } = await server.ask("POST /sessions", { body: { prompt: "which valibot is this?" } });
  const events = `/sessions/${body.session_id}/events`;
  const asked = await until(server.frames(events), ({ event }) => event === "permission_request");
  const { permission_id, tool: named } = asked.at(-1)?.data.metadata ?? {};
  expect(named).toBe(tool);
  const permission = `POST /sessions/${body.session_id}/permissions/${permission_id}`;
  expect(await server.ask(permission, { body: { decision: "allow" } })).toMatchObject({ status: 200 });
  const seen = await server.all(events);
  expect(seen.find(({ event }) => event === "tool_result")?.data.metadata.output).toMatch(/^valibot \d+\.\d+\.\d+/);
  expect(seen.find(({ event }) => event === "agent_result")?.data.metadata.output).toBe("known");
});

test("the server answers bad lines, unknown methods and names that lead out of node_modules, and ends with its input", async () => {
  const path = join(repositoryRoot, "examples", "mcp-server", "server.mjs");
  const child = spawn(process.execPath, [path], { cwd: repositoryRoot, stdio: ["pipe", "pipe", "inherit"] });
  const call = (id: number, name: unknown, tool = "installed_version") =>
    JSON.stringify({ id, method: "tools/call", params: { name: tool, arguments: { name } } });
  child.stdin.end(
    [
      "{",
      "null",
      '{"method":"notifications/initialized"}',
      '{"id":1,"method":"toString"}',
      '{"id":2,"method":"tools/call","params":null}',
      call(3, "x", "gone"),
      call(4, "../../../etc/passwd"),
      call(5, "@a/../b"),
      call(6, 7),
      call(7, "never-installed-here"),
      "",
    ].join("\n"),
  );
  const replies = (await text(child.stdout))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const byId = (id: number | null) => replies.find((reply) => reply.id === id);
  expect(byId(null).error.code).toBe(-32700);
  expect(byId(1).error.code).toBe(-32601);
  expect(byId(2).error.code).toBe(-32602);
  expect(byId(3).error.code).toBe(-32602);
  for (const id of [4, 5, 6]) {
    expect(byId(id).result).toEqual({
      content: [{ type: "text", text: "name is not the name of a package" }],
      isError: true,
    });
  }
  expect(byId(7).result.content[0].text).toBe("never-installed-here is not installed here");
  expect(replies).toHaveLength(8);
  if (child.exitCode === null) await once(child, "exit");
  expect(child.exitCode).toBe(0);
});

test("-p has one turn, which waits for a server that takes longer than a conversation would wait for it", async () => {
  const server = join(repositoryRoot, "examples", "mcp-server", "server.mjs");
  const late = scratchTree({
    "late.mjs": `setTimeout(() => import(${JSON.stringify(pathToFileURL(server).href)}), 3500);`,
  });
  const servers = { packages: { command: process.execPath, args: [join(late, "late.mjs")] } };
  const cwd = scratchTree({
    "servers.json": { mcpServers: servers },
    "node_modules/there/package.json": { version: "1.2.3" },
  });
  const ask = `call ${tool} with {"name": "there"}`;
  const { child, exited } = startProgram("otter", ["--mode", "auto", "--mcp", "servers.json", "-p", ask], {}, { cwd });
  child.stdin.end();
  expect(await text(child.stdout)).toContain("there 1.2.3");
  expect(await exited).toBe(0);
});
