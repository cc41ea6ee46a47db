// Commands that keep running after their call: in every client, over a restart, and never longer than the session.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { launch, openSession, textPrompt } from "./clients/editor.js";
import { processesWith } from "./clients/processes.js";
import { repositoryRoot, scratchTree } from "./scratch.js";
import { startServer } from "./server.js";

const bash = (command: string, more: object = {}) => ({ call: "Bash", args: { command, ...more } });
const turn = (...calls: object[]) => ({
  steps: [...calls.map((call) => ({ reply: [call] })), { reply: [{ text: "Done." }] }],
});
const serverOn = (port: number) =>
  `node -e "require('http').createServer((_, r) => r.end('it works')).listen(${port}, '127.0.0.1', () => console.log('up'))"`;

async function gone(marker: string): Promise<boolean> {
  for (let n = 0; n < 100 && processesWith(marker).length > 0; n++) await pause(50);
  return processesWith(marker).length === 0;
}

test("over HTTP: a server is started, tested in the next turn, and ends with the session", async () => {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const turns = [
    turn(bash(serverOn(port), { background: true })),
    turn(
      bash(
        `node -e "fetch('http://127.0.0.1:${port}').then((r) => r.text()).then(console.log)" > got.txt; cat got.txt`,
      ),
    ),
  ];
  const file = join(scratchTree({ "script.json": { turns } }), "script.json");
  const server = await startServer(["--model", `scripted:${file}`, "--mode", "auto"]);
  const { body } = await server.ask("POST /sessions", { body: { prompt: "start it" } });
  const id = body.session_id as string;
  await server.all(`/sessions/${id}/events`);
  await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: "test it" } });
  const frames = await server.all(`/sessions/${id}/events`);
  const typed = (type: string) => frames.filter(({ event }) => event === type).map(({ data }) => data.metadata);
  expect(typed("job_started")).toMatchObject([{ job_id: "job-0.1" }]);
  expect(typed("tool_result").at(-1).output).toContain("it works");
  expect(typed("job_ended")).toEqual([]);
  await server.ask(`DELETE /sessions/${id}`);
  expect(await gone(`listen(${port}`)).toBe(true);
});

test("in an editor: a job is a call of its own, and after kill -9 nothing runs and the log says that it ended", {
  tags: ["needs-linux", "needs-setsid"],
}, async () => {
  const marker = `sleep 2${Date.now()}`;
  const script = { turns: [turn(bash(`echo on; setsid nohup ${marker} & ${marker}`, { background: true })), turn()] };
  const editor = launch("otter", { script, args: ["--mode", "auto"] });
  onTestFinished(() => editor.dispose());
  const sessionId = await openSession(editor);
  await editor.request("session/prompt", textPrompt(sessionId, "start"));
  await editor.find((frame) => JSON.stringify(frame).includes('"toolCallId":"job-0.1"'));
  expect(processesWith(marker).length).toBeGreaterThan(0);
  editor.child.kill("SIGKILL");
  await editor.exited;
  expect(await gone(marker)).toBe(true);

  const again = launch("otter", { home: editor.home, cwd: editor.cwd });
  onTestFinished(() => again.dispose());
  await again.request("initialize", { protocolVersion: 1 });
  await again.request("session/load", { sessionId, cwd: again.cwd, mcpServers: [] });
  const ended = await again.find((frame) => frame.params?.update?.rawOutput?.by === "session");
  expect(ended.params.update).toMatchObject({ toolCallId: "job-0.1", status: "completed" });
  expect([...editor.problems(), ...again.problems()]).toEqual([]);
});

test("in the terminal: a run shows its job, and leaves nothing running", { tags: ["needs-linux"] }, async () => {
  const marker = `sleep 3${Date.now()}`;
  const home = scratchTree({ "script.json": { turns: [turn(bash(`echo on; ${marker}`, { background: true }))] } });
  const cli = join(repositoryRoot, "apps/otter/dist/cli.js");
  const args = [cli, "-p", "go", "--model", `scripted:${join(home, "script.json")}`, "--mode", "auto"];
  const env = { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: join(home, "data") };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: home, env });
  expect(stdout).toContain("Done.");
  expect(stderr).not.toContain("error");
  expect(await gone(marker)).toBe(true);
});
