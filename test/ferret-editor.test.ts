// ferret in standard ACP: what its own dialect says rides in standard updates, and HTTP serves the same sessions.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { client, ndJsonStream, type SessionUpdate } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { addressOf, startProgram } from "./program.js";

type Answer = "allow_once" | "reject_once";

/** The official client on `ferret serve` with these flags, a session open. */
async function editor(args: string[], options: { answer?: Answer; env?: Record<string, string> } = {}) {
  const program = startProgram("ferret", ["serve", ...args], options.env);
  const updates: SessionUpdate[] = [];
  const asked: unknown[] = [];
  const { agent } = client()
    .onNotification("session/update", ({ params }) => void updates.push(params.update))
    .onRequest("session/request_permission", ({ params }) => {
      asked.push(params);
      return { outcome: { outcome: "selected", optionId: options.answer ?? "reject_once" } };
    })
    .connect(
      ndJsonStream(
        Writable.toWeb(program.child.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(program.child.stdout) as ReadableStream<Uint8Array>,
      ),
    );
  await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const session = await agent.request("session/new", { cwd: program.cwd, mcpServers: [] });
  const { sessionId } = session;
  const prompt = (text: string) => agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  return { program, updates, asked, agent, session, sessionId, prompt };
}

const valuesOf = (options: readonly { id: string; currentValue?: unknown }[] | null | undefined) =>
  Object.fromEntries((options ?? []).map(({ id, currentValue }) => [id, currentValue]));

test("sandbox and approval are config options", async () => {
  const { session } = await editor(["--sandbox", "workspace-write", "--approval", "auto"]);
  expect(valuesOf(session.configOptions)).toMatchObject({ sandbox: "workspace-write", approval: "auto" });
});

test("approval can be picked; the sandbox takes a restart, and the error says so", async () => {
  const { agent, sessionId, updates, prompt, program } = await editor(["--sandbox", "workspace-write"]);
  const changed = await agent.request("session/set_config_option", { sessionId, configId: "approval", value: "auto" });
  expect(valuesOf(changed.configOptions)).toMatchObject({ approval: "auto" });
  await expect(
    agent.request("session/set_config_option", { sessionId, configId: "sandbox", value: "off" }),
  ).rejects.toThrow(/restart required/);
  await prompt("write note.txt: hello");
  expect(existsSync(join(program.cwd, "note.txt"))).toBe(true);
  expect(updates.filter(({ sessionUpdate }) => sessionUpdate === "config_option_update")).toHaveLength(1);
});

test("an edit is a diff with its place, a read a place with its line", async () => {
  const { updates, prompt, program } = await editor(["--full-auto"]);
  await prompt("write note.txt: hello");
  await prompt("read README.md");
  const path = join(program.cwd, "note.txt");
  const calls = updates.filter((update) => update.sessionUpdate === "tool_call");
  expect(calls.map(({ locations }) => locations)).toEqual([[{ path }], [{ path: join(program.cwd, "README.md") }]]);
  const contents = updates.flatMap((update) =>
    update.sessionUpdate === "tool_call_update" ? (update.content ?? []) : [],
  );
  expect(contents).toContainEqual({ type: "diff", path, oldText: null, newText: "hello" });
});

test("what the sandbox refuses is a failed call that says why", async () => {
  const { updates, prompt, asked } = await editor(["--approval", "full"]);
  expect((await prompt("write note.txt: hello")).stopReason).toBe("end_turn");
  const results = updates.filter((update) => update.sessionUpdate === "tool_call_update");
  expect(results.at(-1)).toMatchObject({ status: "failed", rawOutput: { error: "sandbox_violation" } });
  expect(asked).toEqual([]);
});

test("one session over ACP and HTTP at once, behind FERRET_SERVER_TOKEN", async () => {
  const env = { FERRET_SERVER_TOKEN: "a-token-for-the-test" };
  const { program, sessionId, prompt } = await editor(["--acp", "--http", "--port", "0"], { env });
  const address = await addressOf(program);
  await prompt("list files");
  const url = `${address}/sessions/${sessionId}`;
  expect((await fetch(url)).status).toBe(401);
  const response = await fetch(url, { headers: { authorization: `Bearer ${env.FERRET_SERVER_TOKEN}` } });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ session_id: sessionId });
});

test("--http alone serves HTTP, with the same limits", async () => {
  const program = startProgram("ferret", ["serve", "--http", "--port", "0"]);
  const address = await addressOf(program);
  const created = await fetch(`${address}/sessions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt: "write note.txt: hello" }),
  });
  const { session_id: id } = (await created.json()) as { session_id: string };
  const events = await (await fetch(`${address}/sessions/${id}/events`)).text();
  expect(events).toContain("event: sandbox_violation");
  expect(existsSync(join(program.cwd, "note.txt"))).toBe(false);
});

const MODES = {
  "read-only": ["read-only"],
  auto: ["auto", "review", "read-only"],
  full: ["auto", "review", "read-only"],
};

test.each(Object.entries(MODES))(
  "under approval %s the modes that mean something are offered, and the first is set",
  async (approval, modes) => {
    const { session, agent, sessionId } = await editor(["--sandbox", "workspace-write", "--approval", approval]);
    expect(session.modes?.availableModes.map(({ id }) => id)).toEqual(modes);
    expect(session.modes?.currentModeId).toBe(modes[0]);
    const refused = ["auto", "review"].filter((id) => !modes.includes(id));
    for (const modeId of refused)
      await expect(agent.request("session/set_mode", { sessionId, modeId })).rejects.toThrow(/approval preset/);
  },
);

test.each(["auto", "full"])("under approval %s Review asks before an edit, and Auto does not", async (approval) => {
  const { agent, sessionId, asked, prompt, program, updates } = await editor(
    ["--sandbox", "workspace-write", "--approval", approval],
    { answer: "reject_once" },
  );
  await prompt("write auto.txt: hello");
  expect(asked).toEqual([]);
  expect(existsSync(join(program.cwd, "auto.txt"))).toBe(true);
  await agent.request("session/set_mode", { sessionId, modeId: "review" });
  await prompt("write review.txt: hello");
  expect(asked).toHaveLength(1);
  expect(existsSync(join(program.cwd, "review.txt"))).toBe(false);
  await agent.request("session/set_mode", { sessionId, modeId: "auto" });
  await prompt("write again.txt: hello");
  expect(asked).toHaveLength(1);
  const modes = updates.flatMap((update) =>
    update.sessionUpdate === "current_mode_update" ? update.currentModeId : [],
  );
  expect(modes).toEqual(["review", "auto"]);
});

test("another preset brings other modes, and the editor hears of them", async () => {
  const { agent, sessionId, updates } = await editor(["--sandbox", "workspace-write"]);
  const { configOptions } = await agent.request("session/set_config_option", {
    sessionId,
    configId: "approval",
    value: "auto",
  });
  expect(valuesOf(configOptions)).toMatchObject({ approval: "auto", mode: "auto" });
  expect(updates).toContainEqual({ sessionUpdate: "current_mode_update", currentModeId: "auto" });
});
