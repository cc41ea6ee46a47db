import { type Person, type Sessions, sessionsFor } from "@chimera/session";
import { expect, test } from "vitest";
import { type Core, otterDialect, standardDialect } from "../src/index.js";
import { connect, makeEngine, saying } from "./harness.js";
import { callsOf, NOT_FOUND } from "./params.js";

const ANN: Person = { name: "ann", role: "user" };
const BOB: Person = { name: "bob", role: "user" };

function as(core: Core & { readonly sessions: Sessions }, person: Person): Core {
  return { ...core, sessions: sessionsFor(core.sessions, person) };
}

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
  const calls = callsOf(await methods(), { session: sessionId, question: "perm-1", cwd: "/" });
  expect(calls.length).toBeGreaterThan(7);
  for (const { method, params } of calls) {
    const { result, error } = await stranger.call(method, params);
    // A cancel, a close or a deletion of a missing session succeeds silently.
    const isQuiet = ["session/cancel", "session/close", "session/delete"].includes(method);
    if (!isQuiet)
      expect([method, result, error?.message]).toEqual([method, undefined, expect.stringMatching(NOT_FOUND)]);
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
