// A usual piece of work asks few questions, and the same work asks none once it was allowed for good.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startEditor } from "./editor.js";
import { connect } from "./peer.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";
import { startServer } from "./server.js";

const bash = (command: string) => ({ call: "Bash", args: { command } });
const write = (path: string, content: string) => ({ call: "Write", args: { path, content } });
const edit = (n: number, round: number) => ({
  call: "Edit",
  args: { path: "a.txt", old_string: `line ${n} ${round - 1}`, new_string: `line ${n} ${round}` },
});
const LINES = [1, 2, 3, 4, 5, 6];
const work = (round: number) => [
  ...["npm test", "git diff", "git log", "ls -la src", "cat package.json", "rg TODO", "node --version", "npm ls"].map(
    bash,
  ),
  ...LINES.map((n) => edit(n, round)),
  write(`one-${round}.txt`, "1"),
  write(`two-${round}.txt`, "2"),
  ...["npm run build", "npx tsc --noEmit", "git status", "git add -A"].map(bash),
];
const turn = (round: number) => ({
  steps: [...work(round).map((call) => ({ reply: [call] })), { reply: [{ text: "Done." }] }],
});

function setUp(cwd: string): void {
  mkdirSync(join(cwd, "src"), { recursive: true });
  // What npx finds here it does not look for elsewhere.
  mkdirSync(join(cwd, "node_modules/.bin"), { recursive: true });
  writeFileSync(join(cwd, "node_modules/.bin/tsc"), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(cwd, "package.json"), '{"name":"x","scripts":{"test":"true","build":"true"}}');
  writeFileSync(join(cwd, "a.txt"), LINES.map((n) => `line ${n} 0\n`).join(""));
}

test("of 20 usual calls at most 6 ask, of 20 alike none, and the widest answers are named as what they are", async () => {
  const script = join(scratchTree({ "script.json": { turns: [turn(1), turn(2)] } }), "script.json");
  const server = await startServer(["--model", `scripted:${script}`]);
  setUp(server.program.cwd);
  const { body } = await server.ask("POST /sessions", { body: { prompt: "one" } });
  const id = body.session_id as string;
  const asked: { tool: string; names: string[] }[] = [];
  const answerAll = async () => {
    for (;;) {
      const { body: state } = await server.ask(`GET /sessions/${id}`);
      const { body: open } = await server.ask(`GET /sessions/${id}/permissions`);
      for (const { permission_id, tool, choices = [] } of open.permissions) {
        asked.push({ tool, names: choices.map(({ name }: { name: string }) => name) });
        const wide = choices.find((one: { id: string }) => one.id === "allow_edits" || one.id === "allow_prefix");
        const answer = { decision: "always", ...(wide && { choice: wide.id }) };
        await server.ask(`POST /sessions/${id}/permissions/${permission_id}`, { body: answer });
      }
      if (open.permissions.length === 0 && state.state === "idle") return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await answerAll();
  expect(asked.length).toBeLessThanOrEqual(6);
  expect(asked.flatMap(({ names }) => names)).toEqual(
    expect.arrayContaining([
      "Allow edits in this workspace for this session",
      "Always allow this exact call",
      "Always allow commands that begin with npm test, in this workspace",
      "Always allow commands that begin with npx tsc, in this workspace",
    ]),
  );
  const before = asked.length;
  await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: "two" } });
  await answerAll();
  expect(asked.slice(before)).toEqual([]);
}, 120_000);

test("in an editor 20 alike ask nothing once the widest answers were chosen", async () => {
  type Option = { readonly optionId: string; readonly kind: string };
  const widest = ({ options }: { readonly options: readonly Option[] }) => {
    const wide = options.find(({ optionId }) => optionId === "allow_edits" || optionId === "allow_prefix");
    const { optionId } = wide ?? options.find(({ kind }) => kind === "allow_always")!;
    return { outcome: { outcome: "selected", optionId } };
  };
  const editor = await startEditor({
    turns: [turn(1), turn(2)],
    answers: { "session/request_permission": widest as never },
  });
  setUp(editor.program.cwd);
  const { sessionId } = await editor.open();
  await editor.prompt(sessionId, "one");
  const before = editor.asked("session/request_permission").length;
  expect(before).toBeLessThanOrEqual(6);
  await editor.prompt(sessionId, "two");
  expect(editor.asked("session/request_permission")).toHaveLength(before);
}, 120_000);

test.each([
  { name: "otter", args: [], call: (n: number) => bash(`touch made-${n}`), id: "requestId", decision: "reply" },
  {
    name: "ferret",
    args: ["--sandbox", "workspace-write", "--approval", "auto"],
    call: (n: number) => bash(`git push origin branch-${n}`),
    id: "id",
    decision: "decision",
  },
] as const)("in the native dialect of $name 20 alike ask nothing after always", async (row) => {
  const { name, id, decision } = row;
  const steps = Array.from({ length: 20 }, (_, n) => ({ reply: [row.call(n)] }));
  const calls = { steps: [...steps, { reply: [{ text: "Done." }] }] };
  const script = join(scratchTree({ "script.json": { turns: [calls, calls] } }), "script.json");
  const peer = connect(startProgram(name, ["serve", "--acp", "--model", `scripted:${script}`, ...row.args]));
  await peer.request("initialize", {});
  const { sessionId } = (await peer.request("session/new", { cwd: peer.program.cwd })).result;
  const asked = () =>
    peer.frames.flatMap(({ params }) => {
      const shown = name === "otter" ? params?.update : params;
      return [shown?.sessionUpdate, shown?.kind].includes("permission_request") ? [shown[id] as string] : [];
    });
  const first = peer.request("session/message", { sessionId, message: "one" });
  for (let n = 1; n <= 20; n++) {
    await peer.find(() => asked().length === n);
    await peer.request("permission/respond", { sessionId, [id]: asked().at(-1), [decision]: "always" });
  }
  expect((await first).result.output).toBe("Done.");
  expect((await peer.request("session/message", { sessionId, message: "two" })).result.output).toBe("Done.");
  expect(asked()).toHaveLength(20);
});
