import { spawn } from "node:child_process";
import { describeProcess } from "@chimera/event-store/claim";
import { expect, onTestFinished, test, vi } from "vitest";
import { limits } from "../src/limits.js";
import { AGENT, open, place, prompts, records, said, turn } from "./engine.js";

/** A session with one turn, loaded again after the program that made it has ended. */
async function restarted(can: string) {
  const at = place();
  const first = open(at, { can });
  const { id } = await first.sessions.create({ cwd: at.cwd });
  await turn(await first.sessions.load(id), first.sessions, "say one");
  await first.close();
  const { sessions } = open(at, { can });
  return { at, sessions, session: await sessions.load(id) };
}

test.each([
  ["resume", "resume"],
  ["load", "load"],
  ["load, because the resume that it offers fails", "resume-lies,load"],
])("an engine's session is restored by %s, without a notice and without sending a prompt twice", async (_name, can) => {
  const { at, sessions, session } = await restarted(can);
  const log = await turn(session, sessions, "recall");
  expect(said(log)).toBe("say one");
  expect(log.some(({ type }) => type === "notice")).toBe(false);
  expect(prompts(at)).toEqual(["say one", "recall"]);
  expect(JSON.stringify(await records(sessions, session.id))).not.toContain("replayed");
});

test.each([
  ["neither is offered", "", "could not restore its session,"],
  ["load fails", "load-fails", "session/load: the session file is gone"],
  ["both fail", "resume-lies,load-fails", "session/resume: Method not found; session/load"],
])(
  "a new session of the engine gets the conversation as text once, with a notice, when %s",
  async (_name, can, why) => {
    const { at, sessions, session } = await restarted(can);
    const log = await turn(session, sessions, "say two");
    expect(log.find(({ type }) => type === "notice")?.metadata).toMatchObject({ text: expect.stringContaining(why) });
    const received = prompts(at)[1]!;
    expect(received).toContain("User: say one");
    expect(received).toContain("Assistant: one");
    expect(received.endsWith("say two")).toBe(true);
  },
);

test("the conversation as text has no undone turns, and a fork gets it too", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  await turn(session, sessions, "say one");
  await turn(session, sessions, "say two");
  await session.undo();
  const log = await turn(session, sessions, "say three");
  expect(log.find(({ type }) => type === "notice")?.metadata).toMatchObject({
    text: expect.stringContaining("was changed"),
  });
  const received = prompts(at).at(-1)!;
  expect(received).toContain("User: say one");
  expect(received).not.toContain("say two");

  const fork = await sessions.fork(session.id, { turn: 0 });
  await turn(fork, sessions, "say four");
  expect(prompts(at).at(-1)).toContain("User: say one");
  expect(prompts(at).at(-1)).not.toContain("say three");
});

test("when the program dies its turn fails at once with the last line of stderr, and the next turn resumes", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  await turn(session, sessions, "say one");
  const log = await turn(session, sessions, "die out of memory");
  expect(log.at(-1)).toMatchObject({
    metadata: { success: false, error: expect.stringMatching(/exit code 3\): out of memory/) },
  });
  expect(said(await turn(session, sessions, "recall"))).toBe("say one");
});

test("a program that keeps dying is started after longer and longer waits", async () => {
  const at = place();
  const { sessions } = open(at, { can: "dies-at-start" });
  const session = await sessions.create({ cwd: at.cwd });
  const times: number[] = [];
  for (let i = 0; i < 3; i++) {
    const log = await turn(session, sessions, "say one");
    times.push(Date.now());
    expect(log.at(-1)).toMatchObject({ metadata: { error: expect.stringContaining("no such library") } });
  }
  expect(times[2]! - times[1]!).toBeGreaterThan(900);
});

test("the turn of a missing program fails with the reason", async () => {
  const at = place();
  const { sessions } = open(at, { command: "/nonexistent/agent", args: [] });
  const session = await sessions.create({ cwd: at.cwd });
  const log = await turn(session, sessions, "say one");
  expect(log.at(-1)).toMatchObject({ metadata: { success: false, error: expect.stringContaining("ENOENT") } });
});

test("when the agent asks for a login, the configured login method is used, and without one the turn fails", async () => {
  const at = place();
  const without = open(at, { can: "login" });
  const session = await without.sessions.create({ cwd: at.cwd });
  const log = await turn(session, without.sessions, "say one");
  expect(log.at(-1)).toMatchObject({ metadata: { error: "scripted needs a login (key)" } });
  await without.close();
  const { sessions } = open(at, { can: "login", auth: "key" });
  expect(said(await turn(await sessions.load(session.id), sessions, "say two"))).toBe("two");
});

test("an agent that speaks another version of ACP is refused", async () => {
  const at = place();
  const { sessions } = open(at, { env: { SCRIPTED_VERSION: "9" } });
  const log = await turn(await sessions.create({ cwd: at.cwd }), sessions, "say one");
  expect(log.at(-1)).toMatchObject({ metadata: { error: expect.stringContaining("version 9") } });
});

test("a program that outlived its host is killed before the next turn", { tags: ["needs-linux"] }, async () => {
  const at = place();
  const first = open(at, { can: "resume" });
  const session = await first.sessions.create({ cwd: at.cwd });
  await turn(session, first.sessions, "say one");
  // Make it look as if the host was killed: the program that the log names still runs.
  const orphan = spawn(process.execPath, [AGENT], { detached: true, stdio: ["pipe", "ignore", "ignore"], env: {} });
  onTestFinished(() => void orphan.kill("SIGKILL"));
  const gone = new Promise((resolve) => orphan.once("exit", (_code, signal) => resolve(signal)));
  const memory = session.conversation.facts.memory as Record<string, unknown>;
  await vi.waitFor(() => expect(describeProcess(orphan.pid!)).not.toBeNull());
  await session.record({
    type: "agent_session",
    metadata: { state: { ...memory, program: describeProcess(orphan.pid!) } } as never,
  });
  await first.close();

  const second = open(at, { can: "resume" });
  const again = await second.sessions.load(session.id);
  expect(said(await turn(again, second.sessions, "recall"))).toBe("say one");
  expect(await gone).toBe("SIGKILL");
});

test("eight sessions of a workspace share a program, and all resume after it has died", async () => {
  const at = place();
  const { sessions } = open(at);
  const eight = await Promise.all(Array.from({ length: 8 }, () => sessions.create({ cwd: at.cwd })));
  await Promise.all(eight.map((session, i) => turn(session, sessions, `say ${i}`)));
  const programs = new Set(
    eight.map(({ conversation }) => (conversation.facts.memory as { program: { pid: number } }).program.pid),
  );
  expect(programs.size).toBe(1);
  process.kill([...programs][0]!, "SIGKILL");
  await vi.waitFor(() => expect(describeProcess([...programs][0]!)).toBeNull());
  // This process learns of the end a moment after it happens.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const answers = await Promise.all(eight.map(async (session) => said(await turn(session, sessions, "recall"))));
  expect(answers).toEqual(eight.map((_, i) => `say ${i}`));
});

test("a program that replaced a dead one keeps running while one of its sessions is open", async () => {
  const at = place();
  const { sessions, engine } = open(at);
  const [one, two] = [await sessions.create({ cwd: at.cwd }), await sessions.create({ cwd: at.cwd })];
  await turn(two, sessions, "say two");
  await turn(one, sessions, "die");
  for (const session of [one, two]) await turn(session, sessions, "say again");
  const programOf = () => (one.conversation.facts.memory as { program: { pid: number } }).program.pid;
  const program = programOf();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  await engine.closeSession(two.id);
  vi.advanceTimersByTime(limits.idleMs);
  vi.useRealTimers();
  expect(said(await turn(one, sessions, "say still here"))).toBe("still here");
  expect(programOf()).toBe(program);
});
