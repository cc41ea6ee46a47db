import { readdirSync, readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { AGENT, firstQuestion, open, place, records, said, turn } from "./engine.js";

test.each([
  ["lines that are not JSON, batches and answers without a request", "junk\nsay still here"],
  ["updates of an unknown session", "stranger\nsay still here"],
  ["a line of 40 MiB", "bigline 40\nsay still here"],
  ["a call of a method that the engine was not offered", "unasked\nsay still here"],
])("a turn continues after %s", async (_name, orders) => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  const log = await turn(session, sessions, orders);
  expect(said(log)).toBe("still here");
  expect(log.at(-1)).toMatchObject({ type: "agent_result", metadata: { success: true } });
});

test.each(["constructor", "toString", "__proto__"])(
  "an update of the kind %s is kept like any unknown kind",
  async (kind) => {
    const at = place();
    const { sessions } = open(at);
    const log = await turn(await sessions.create({ cwd: at.cwd }), sessions, `kind ${kind}\nsay still here`);
    expect(log.find(({ type }) => type === "vendor")?.metadata).toMatchObject({ name: kind });
    expect(log.at(-1)).toMatchObject({ type: "agent_result", metadata: { success: true, output: "still here" } });
  },
);

test("a field is asked about that has the name of a property of every object", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  sessions.attach(session.id, { approves: true });
  session.prompt({ text: "field toString" });
  const asked = await firstQuestion(session);
  await session.answerQuestion(asked.question_id, "blue");
  await session.idle();
  expect(said(await records(sessions, session.id))).toBe('{"action":"accept","content":{"toString":"blue"}}');
});

test("a call of a method that the engine was not offered gets an error", async () => {
  const at = place();
  const { sessions, trouble } = open(at);
  await turn(await sessions.create({ cwd: at.cwd }), sessions, "unasked");
  await vi.waitFor(() => expect(trouble.join()).toContain("-32601"));
});

test("a program that ignores a cancel is killed, and the next turn resumes its session", async () => {
  const at = place();
  const { sessions } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  await turn(session, sessions, "say one");
  const started = Date.now();
  session.prompt({ text: "say hanging\nhang" });
  await vi.waitFor(async () => expect(said(await records(sessions, session.id))).toContain("hanging"), 10_000);
  session.cancel();
  await session.idle();
  expect((await records(sessions, session.id)).at(-1)).toMatchObject({ type: "cancelled" });
  const log = await turn(session, sessions, "recall");
  expect(said(log)).toBe("say one");
  expect(Date.now() - started).toBeGreaterThan(9000);
}, 40_000);

test("no process is left when everything is closed", { tags: ["needs-linux"] }, async () => {
  const at = place();
  const { sessions, close } = open(at);
  const session = await sessions.create({ cwd: at.cwd });
  session.prompt({ text: "sleep 60000" });
  await vi.waitFor(() => expect(running(at.state)).toHaveLength(1), 10_000);
  await close();
  await vi.waitFor(() => expect(running(at.state)).toEqual([]), 5000);
});

function running(state: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return command.includes(AGENT) && readFileSync(`/proc/${pid}/environ`, "utf8").includes(state);
    } catch {
      return false;
    }
  });
}
