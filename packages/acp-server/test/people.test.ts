import { type Person, type Sessions, sessionsFor } from "@chimera/session";
import { expect, test } from "vitest";
import { type Core, otterDialect, standardDialect } from "../src/index.js";
import { connect, makeEngine, saying } from "./harness.js";

const ANN: Person = { name: "ann", role: "user" };
const BOB: Person = { name: "bob", role: "user" };

function as(core: Core & { readonly sessions: Sessions }, person: Person): Core {
  return { ...core, sessions: sessionsFor(core.sessions, person) };
}

/** The params of each method besides the session, so that the caller is the only possible reason to refuse it. */
const MORE: Readonly<Record<string, object>> = {
  "session/load": { cwd: "/", mcpServers: [] },
  "session/resume": { cwd: "/", mcpServers: [] },
  "session/fork": { cwd: "/", mcpServers: [] },
  "session/prompt": { prompt: [{ type: "text", text: "hi" }] },
  "session/message": { content: "hi", message: "hi", text: "hi" },
  "session/turn": { prompt: "hi", text: "hi", message: "hi" },
  "session/set_mode": { modeId: "review" },
  "session/setMode": { mode: "plan" },
  "session/set_model": { modelId: "m" },
  "session/setModel": { model: "m" },
  "session/set_title": { title: "taken" },
  "session/set_config_option": { configId: "model", value: "m" },
  "permission/respond": { permissionId: "perm-1", id: "perm-1", decision: "allow", outcome: "allow" },
  "tool/approve": { permissionId: "perm-1", id: "perm-1", approved: true, decision: "allow" },
};
/** Methods that do not name a session. */
const ABOUT_NONE = new Set(["initialize", "authenticate", "logout", "session/new", "session/list", "$/cancel_request"]);

test.each([
  ["standard", standardDialect.methodNames, { protocolVersion: 1, clientCapabilities: {} }],
  ["native", otterDialect.methodNames, {}],
] as const)("no row of the %s dialect finds another user's session", async (_, methods, hello) => {
  const core = makeEngine(saying("of-the-owner"));
  const owner = connect(as(core, ANN));
  await owner.call("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const made = await owner.call("session/new", { cwd: "/", mcpServers: [] });
  const sessionId = (made.result as unknown as { sessionId: string }).sessionId;
  await owner.call("session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] });
  const before = core.sessions.find(sessionId)!.lastSeq;

  const stranger = connect(as(core, BOB));
  await stranger.call("initialize", hello);
  const rows = (await methods()).filter((method) => !ABOUT_NONE.has(method));
  expect(rows.length).toBeGreaterThan(7);
  for (const method of rows) {
    const { result, error } = await stranger.call(method, { sessionId, ...MORE[method] });
    // A cancel or close of a missing session succeeds silently.
    const isQuiet = method === "session/cancel" || method === "session/close";
    if (!isQuiet) expect([method, result, error?.message]).toEqual([method, undefined, expect.anything()]);
  }
  const listed = await stranger.call("session/list", {});
  expect(JSON.stringify([listed, stranger.frames])).not.toContain("of-the-owner");
  expect(JSON.stringify(listed)).not.toContain(sessionId);
  expect(core.sessions.find(sessionId)!.lastSeq).toBe(before);
});

test("what a person does over ACP is recorded under their name", async () => {
  const core = makeEngine(saying("hello"));
  const client = connect(as(core, ANN));
  await client.call("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const made = await client.call("session/new", { cwd: "/", mcpServers: [] });
  const sessionId = (made.result as unknown as { sessionId: string }).sessionId;
  await client.call("session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] });
  await client.call("session/set_mode", { sessionId, modeId: "review" });
  const session = core.sessions.find(sessionId)!;
  expect(session.summary().owner).toBe("ann");
  const origins: (string | undefined)[] = [];
  for await (const entry of core.sessions.logs.read(sessionId)) {
    if (entry.type === "user_message" || entry.type === "mode_changed")
      origins.push((entry as { event: { origin?: string } }).event.origin);
  }
  expect(origins).toEqual(["ann", "ann"]);
});
