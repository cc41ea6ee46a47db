// One log, end to end: acknowledged records survive, narrowed settings stay narrow, and any process may read.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import {
  type Editor,
  type LaunchOptions,
  launch,
  openSession,
  type ProgramName,
  textPrompt,
} from "./clients/editor.js";
import { connect } from "./peer.js";
import { startProgram } from "./program.js";
import { startServer, until } from "./server.js";

function editorWith(name: ProgramName, options: LaunchOptions): Editor {
  const editor = launch(name, { command: "serve", ...options });
  onTestFinished(() => editor.dispose());
  return editor;
}

/** The answer of a slash command. */
async function said(editor: Editor, sessionId: string, command: string): Promise<string> {
  const before = editor.frames.length;
  await editor.request("session/prompt", textPrompt(sessionId, command));
  return editor.frames
    .slice(before)
    .map((frame) => frame.params?.update)
    .filter((update) => update?.sessionUpdate === "agent_message_chunk")
    .map((update) => update.content.text)
    .join("");
}

const setOption = (editor: Editor, sessionId: string, configId: string, value: string) =>
  editor.request("session/set_config_option", { sessionId, configId, value });

test("a session narrowed in an editor is as narrow after it was idle too long, and after a restart", async () => {
  const args = ["--approval", "full", "--session-ttl", "1"];
  const editor = editorWith("ferret", { args });
  const sessionId = await openSession(editor);
  await said(editor, sessionId, "/help");
  await setOption(editor, sessionId, "approval", "read-only");
  await editor.request("session/set_mode", { sessionId, modeId: "read-only" });
  await wait(1300);
  // Any call looks for sessions that have been idle for too long.
  await openSession(editor);
  await wait(200);
  expect(await said(editor, sessionId, "/approval")).toBe("approval: read-only");
  expect(await said(editor, sessionId, "/mode")).toBe("mode: read-only");
  editor.child.kill("SIGKILL");
  await editor.exited;

  const again = editorWith("ferret", { args, home: editor.home, cwd: editor.cwd });
  await again.request("initialize", { protocolVersion: 1 });
  await again.request("session/load", { sessionId, cwd: again.cwd, mcpServers: [] });
  expect(await said(again, sessionId, "/approval")).toBe("approval: read-only");
  expect(await said(again, sessionId, "/mode")).toBe("mode: read-only");
  expect([...editor.problems(), ...again.problems()]).toEqual([]);
});

test("a program that was started with less finds no more in an old log", async () => {
  const first = editorWith("ferret", { args: ["--approval", "full"] });
  const sessionId = await openSession(first);
  await said(first, sessionId, "/help");
  await first.request("session/set_mode", { sessionId, modeId: "auto" });
  first.child.stdin.end();
  await first.exited;
  const second = editorWith("ferret", {
    args: ["--approval", "auto", "--mode", "review"],
    home: first.home,
    cwd: first.cwd,
  });
  await second.request("initialize", { protocolVersion: 1 });
  await second.request("session/load", { sessionId, cwd: second.cwd, mcpServers: [] });
  expect(await said(second, sessionId, "/approval")).toBe("approval: auto");
  expect(await said(second, sessionId, "/mode")).toBe("mode: review");
});

test("settings that an editor saw acknowledged survive kill -9: title, model, mode and options", async () => {
  for (let round = 0; round < 5; round++) {
    const editor = editorWith("otter", {});
    const sessionId = await openSession(editor);
    await said(editor, sessionId, "/help");
    const title = `Round ${round}`;
    await Promise.all([
      editor.request("session/set_title", { sessionId, title }),
      editor.request("session/set_mode", { sessionId, modeId: "read-only" }),
      setOption(editor, sessionId, "agent", "plan"),
      setOption(editor, sessionId, "model", "offline"),
    ]);
    editor.child.kill("SIGKILL");
    await editor.exited;
    const again = editorWith("otter", { home: editor.home, cwd: editor.cwd });
    await again.request("initialize", { protocolVersion: 1 });
    const { result } = await again.request("session/load", { sessionId, cwd: again.cwd, mcpServers: [] });
    const values = Object.fromEntries(
      result.configOptions.map(({ id, currentValue }: { id: string; currentValue: string }) => [id, currentValue]),
    );
    expect(values).toMatchObject({ mode: "read-only", agent: "plan", model: "offline" });
    const { result: list } = await again.request("session/list", {});
    expect(list.sessions.find((row: { sessionId: string }) => row.sessionId === sessionId)?.title).toBe(title);
  }
});

test("--no-save holds for /new and for forks as well", async () => {
  const editor = editorWith("otter", { args: ["--no-save"] });
  const sessionId = await openSession(editor);
  await said(editor, sessionId, "list files");
  await said(editor, sessionId, "/new");
  await editor.request("session/fork", { sessionId, cwd: editor.cwd, mcpServers: [] });
  const kept = join(editor.home, "data", "eventlog");
  expect(existsSync(kept) ? readdirSync(kept).filter((name) => name.startsWith("otter-")) : []).toEqual([]);
});

test("any process may read a session that another one holds", async () => {
  const holder = await startServer();
  const { id } = await holder.run("list files");
  const surroundings = { cwd: holder.program.cwd, home: holder.program.home };
  const reader = await startServer([], {}, surroundings);
  const frames = await until(reader.frames(`/session/${id}/events`), ({ event }) => event === "result");
  expect(frames[0]).toMatchObject({ id: 1, event: "user_message" });

  const peer = connect(startProgram("otter", ["serve", "--acp", "--acp-dialect", "otter"], {}, surroundings));
  await peer.request("initialize", {});
  const loaded = await peer.request("session/load", { sessionId: id });
  expect(loaded.result).toMatchObject({ sessionId: id, cwd: holder.program.cwd, state: "idle" });
  const resumed = await peer.request("session/resume", { sessionId: id, sinceEventId: 0 });
  expect(resumed.result.replayed).toBe(loaded.result.lastEventId);
  // The holder's later records are shown here, too.
  await holder.ask(`POST /sessions/${id}/turns`, { body: { prompt: "list files" } });
  await peer.find((frame) => Number(frame.params?.eventId) > loaded.result.lastEventId);
});

test("a hang-up does not end a server without a terminal, a request to end does, and leaves no record of it", async () => {
  const server = await startServer(["--model", "scripted:/nonexistent"], {});
  const { program } = server;
  const run = join(program.home, "run");
  expect(readdirSync(run).some((name) => name.endsWith(".pid") || name.includes("otter"))).toBe(true);
  program.child.kill("SIGHUP");
  await server.ask("GET /healthz");
  expect(program.child.exitCode).toBeNull();
  program.child.kill("SIGTERM");
  expect(await program.exited).toBe(0);
  const again = startProgram("otter", ["serve", "status"], {}, { cwd: program.cwd, home: program.home });
  let text = "";
  again.child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  await again.exited;
  expect(text).not.toContain("stale");
});
