import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createCodingAgent, loadAgents, permissionOf, readTextBeneath } from "@chimera/agent/agents";
import { createScriptedModel, parseScript } from "@chimera/agent/scripted";
import { localWorkspace } from "@chimera/agent/tools";
import { createMemoryStore } from "@chimera/event-store";
import { createSessions, type Settings } from "@chimera/session";
import { expect, onTestFinished, test } from "vitest";
import {
  answerFiles,
  auditFiles,
  createAudit,
  createPolicy,
  createRemembered,
  fileChain,
  loadProjectRules,
  type PolicyOptions,
  verifyAudit,
} from "../src/index.js";
import { bench } from "./call.js";

const call = (name: string, args: Record<string, unknown>) => ({ call: name, args });

/** Runs a session of the built-in engine with a policy. The person gives every question the same answer. Returns the tool results. */
async function setUp(options: PolicyOptions = {}) {
  const { cwd, outside: home } = await bench();
  const take = async (
    calls: ReturnType<typeof call>[],
    settings: Partial<Settings> = {},
    decision: "always" | "deny" = "deny",
  ) => {
    const steps = [...calls.map((one) => ({ reply: [one] })), { reply: [{ text: "done" }] }];
    const coding = createCodingAgent({
      resolveModel: () => createScriptedModel(parseScript({ turns: [{ steps }] })),
      home,
      env: { PATH: process.env["PATH"] },
    });
    const audit = createAudit(fileChain(join(home, "audit")));
    const store = createMemoryStore<SessionEvent, Summary>();
    const sessions = createSessions({
      agent: coding.agent,
      policy: createPolicy({
        agent: async (name) => permissionOf(name, (await loadAgents({ home, cwd, trusted: false })).agents),
        projectRules: (directory) => loadProjectRules(directory, readTextBeneath),
        remembered: createRemembered(answerFiles(join(home, "remembered"))),
        audit,
        ...options,
      }),
      store,
      disk: localWorkspace(cwd),
      prefix: "test",
      defaults: { model: "scripted", ...settings },
    });
    onTestFinished(async () => {
      await sessions.shutdown();
      await coding.close();
      await store.close();
    });
    const session = await sessions.create({ cwd });
    sessions.attach(session.id, { transport: "http", approves: true });
    session.prompt({ text: "go" });
    let asked = 0;
    while (session.state !== "idle") {
      const [open] = session.openPermissions.keys();
      if (open !== undefined) {
        asked += 1;
        await session.answer(open, decision);
      } else await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await audit.close();
    const records: SessionRecord[] = [];
    for await (const entry of sessions.logs.read(session.id))
      if ("event" in entry) records.push(entry.event as SessionRecord);
    const results = records.flatMap((record) => (record.type === "tool_result" ? [record.metadata] : []));
    return { asked, results, records };
  };
  return { cwd, home, take };
}

test("calls in the workspace follow the mode, other calls ask, and all are audited", async () => {
  const { cwd, home, take } = await setUp();
  const calls = [
    call("Write", { path: "a.txt", content: "hi" }),
    call("Write", { path: join(home, "b"), content: "" }),
    call("Read", { path: "a.txt" }),
  ];
  const { asked, results } = await take(calls, { autoApproveWrites: true });
  expect(await readFile(join(cwd, "a.txt"), "utf8")).toBe("hi");
  expect(asked).toBe(1);
  expect(results.map(({ success }) => success)).toEqual([true, false, true]);
  expect(await verifyAudit(auditFiles(join(home, "audit")))).toMatchObject({ ok: true, entries: 3 });
});

test("an allowed call outside the workspace runs, and a lasting answer is remembered", async () => {
  const { home, take } = await setUp();
  const calls = [call("Write", { path: join(home, "new.txt"), content: "agreed" })];
  expect((await take(calls, {}, "always")).results).toMatchObject([{ success: true }]);
  expect(await take(calls)).toMatchObject({ asked: 0, results: [{ success: true }] });
  expect(await readdir(join(home, "remembered"))).toHaveLength(1);
});

test("a read-only agent, a read-only session and a project's rule prevent changes, even if a person or a rule would allow them", async () => {
  const { cwd, take } = await setUp();
  const calls = [call("Write", { path: "a", content: "" }), call("Bash", { command: "touch b" })];
  await take(calls, { agent: "plan" }, "always");
  const { asked, results } = await take(calls, { readOnly: true }, "always");
  expect(asked).toBe(0);
  expect(results).toMatchObject([{ error: "permission_denied" }, { error: "permission_denied" }]);
  expect(await readdir(cwd)).toEqual([]);
  await mkdir(join(cwd, ".chimera"));
  await writeFile(join(cwd, ".chimera/permissions.json"), '{"rules":[{"tool":"*","action":"deny"}]}');
  const auto = { autoApproveWrites: true, autoApproveExecute: true };
  expect((await take(calls, auto)).results).toMatchObject([{ success: false }, { success: false }]);
});

test("a session may read its own long outputs, and asks about those of other sessions", async () => {
  let own = "";
  const { home, take } = await setUp({ readable: () => [own] });
  own = join(home, "outputs/mine");
  for (const name of ["mine", "other"]) {
    await mkdir(join(home, "outputs", name), { recursive: true });
    await writeFile(join(home, "outputs", name, "x.txt"), name);
  }
  const reading = ["mine", "other"].map((name) => call("Read", { path: join(home, "outputs", name, "x.txt") }));
  const { asked, results } = await take([...reading, call("Write", { path: join(own, "x.txt"), content: "" })]);
  expect([asked, ...results.map(({ success }) => success)]).toEqual([2, true, false, false]);
});

test("a call that cannot be audited does not run", async () => {
  const { home, take } = await setUp({
    audit: { append: () => Promise.reject(new Error("disk full")), close: async () => {} },
  });
  const { results } = await take([call("Write", { path: "a", content: "" })], { autoApproveWrites: true });
  expect(results).toMatchObject([{ success: false, output: expect.stringContaining("disk full") }]);
  expect(await readdir(home)).not.toContain("audit");
});
