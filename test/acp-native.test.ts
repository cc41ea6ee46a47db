// otter's native dialect, frame by frame.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect, type Frame, nativePeer, type Peer, updatesOf } from "./peer.js";
import { startProgram } from "./program.js";

const kindOf = (frame: Frame) => frame.params.update.sessionUpdate as string;
const isPermission = (frame: Frame) => frame.method === "session/update" && kindOf(frame) === "permission_request";

async function openSession(peer: Peer): Promise<string> {
  const { result } = await peer.request("session/new", { cwd: peer.program.cwd });
  return result.sessionId;
}

test("the handshake carries both blocks", async () => {
  const peer = connect(startProgram("otter", ["serve", "--acp"]));
  expect((await peer.request("initialize", {})).result).toMatchObject({
    protocolVersion: "0.1",
    serverInfo: { name: "otter-acp", version: expect.any(String) },
    capabilities: {
      sessionFork: true,
      sessionList: true,
      permissionRequest: true,
      thinking: expect.any(Boolean),
      vision: expect.any(Boolean),
    },
    agentCapabilities: {
      promptCapabilities: { text: true },
      sessionCapabilities: { cancel: true, resume: true },
      toolApproval: true,
      eventIds: true,
    },
  });
});

test("a client of revision 2 is answered 2", async () => {
  const peer = connect(startProgram("otter", ["serve", "--acp"]));
  expect((await peer.request("initialize", { protocolVersion: 2 })).result.protocolVersion).toBe(2);
});

test("a message is answered with the final text, after its updates", async () => {
  const peer = await nativePeer("otter");
  const sessionId = await openSession(peer);
  const reply = await peer.request("session/message", { sessionId, message: "list files and read README" });
  expect(reply.result).toMatchObject({
    sessionId,
    stopReason: "end_turn",
    output: expect.stringContaining("A workspace"),
  });
  expect(peer.frames.at(-1)).toEqual(reply);
});

test("updates have the documented shapes", async () => {
  const peer = await nativePeer("otter");
  const sessionId = await openSession(peer);
  await peer.request("session/message", { sessionId, message: "read README.md" });
  const updates = updatesOf(peer, sessionId);
  const first = (kind: string) => updates.find((frame) => kindOf(frame) === kind)?.params.update;
  expect(first("agent_message_chunk")).toMatchObject({ content: { type: "text", text: expect.any(String) } });
  expect(first("tool_call")).toMatchObject({ tool: "Read", input: { path: "README.md" }, callId: expect.any(String) });
  expect(first("tool_result")).toMatchObject({ callId: first("tool_call").callId });
  for (const frame of updates) expect(frame).not.toHaveProperty("id");
});

test("updates are counted from 1, without gaps, turn after turn", async () => {
  const peer = await nativePeer("otter");
  const sessionId = await openSession(peer);
  await peer.request("session/message", { sessionId, message: "list files" });
  await peer.request("session/message", { sessionId, message: "read README.md" });
  const ids = updatesOf(peer, sessionId).map((frame) => frame.params.eventId);
  expect(ids).toEqual(ids.map((_, index) => index + 1));
});

test("a write waits for its answer, then happens", async () => {
  const peer = await nativePeer("otter");
  const sessionId = await openSession(peer);
  const reply = peer.request("session/message", { sessionId, message: "write note.txt: hello" });
  const { update } = (await peer.find(isPermission)).params;
  expect(update).toMatchObject({ requestId: expect.any(String), tool: "Write", input: expect.any(Object) });
  expect(update.options).toEqual(expect.arrayContaining(["allow", "always", "deny"]));
  expect(existsSync(join(peer.program.cwd, "note.txt"))).toBe(false);

  const answer = await peer.request("permission/respond", { requestId: update.requestId, reply: "allow" });
  expect(answer.result).toEqual({ ok: true });
  expect((await reply).result.stopReason).toBe("end_turn");
  expect(existsSync(join(peer.program.cwd, "note.txt"))).toBe(true);
});

test("a message that comes during a turn is answered after it", async () => {
  const peer = await nativePeer("otter");
  const sessionId = await openSession(peer);
  const first = peer.request("session/message", { sessionId, message: "write note.txt: hello" });
  const { update } = (await peer.find(isPermission)).params;
  const second = peer.request("session/message", { sessionId, message: "list files" });
  expect((await peer.request("session/load", { sessionId })).result.state).toBe("running");
  await peer.request("permission/respond", { requestId: update.requestId, reply: "deny" });
  const replies = await Promise.all([first, second]);
  expect(peer.frames.indexOf(replies[0])).toBeLessThan(peer.frames.indexOf(replies[1]));
});

test("a cancelled turn says so, and the session takes the next message", async () => {
  const peer = await nativePeer("otter");
  const sessionId = await openSession(peer);
  const reply = peer.request("session/message", { sessionId, message: "write note.txt: hello" });
  await peer.find(isPermission);
  expect((await peer.request("session/cancel", { sessionId })).result).toMatchObject({ sessionId, cancelled: true });
  expect((await reply).result.stopReason).toBe("cancelled");
  const chunks = updatesOf(peer, sessionId).filter((frame) => kindOf(frame) === "agent_message_chunk");
  expect(chunks.at(-1)?.params.update).toMatchObject({ cancelled: true });
  expect(existsSync(join(peer.program.cwd, "note.txt"))).toBe(false);
  const next = await peer.request("session/message", { sessionId, message: "list files" });
  expect(next.result.stopReason).toBe("end_turn");
});

test("sessions are listed, loaded, forked and set", async () => {
  const peer = await nativePeer("otter");
  const sessionId = await openSession(peer);
  await peer.request("session/message", { sessionId, message: "list files" });
  const { result: list } = await peer.request("session/list", {});
  expect(list.sessions).toEqual([expect.objectContaining({ sessionId, cwd: peer.program.cwd })]);
  expect((await peer.request("session/setMode", { sessionId, mode: "plan" })).result).toEqual({
    sessionId,
    mode: "plan",
  });
  await peer.request("session/setModel", { sessionId, model: "claude-sonnet-4-6" });
  const { result: loaded } = await peer.request("session/load", { sessionId });
  expect(loaded).toMatchObject({ sessionId, state: "idle", agent: "plan", model: "claude-sonnet-4-6" });
  const { result: fork } = await peer.request("session/fork", { sessionId });
  expect(fork).toMatchObject({ sessionId: expect.not.stringMatching(sessionId), parentId: sessionId });
});

const mistakes: [mistake: string, line: string, code: number][] = [
  ["malformed JSON", "{not json", -32700],
  ["an array", "[]", -32600],
  ["a frame without a method", '{"jsonrpc":"2.0","id":7}', -32600],
  ["an unknown method", '{"jsonrpc":"2.0","id":7,"method":"session/fly"}', -32601],
  [
    "a session id that is not a string",
    '{"jsonrpc":"2.0","id":7,"method":"session/message","params":{"sessionId":5}}',
    -32602,
  ],
  [
    "a session that does not exist",
    '{"jsonrpc":"2.0","id":7,"method":"session/load","params":{"sessionId":"otter-20260101T000000-00000000"}}',
    -32602,
  ],
];

test.each(mistakes)("%s is answered, and the stream continues", async (_mistake, line, code) => {
  const peer = await nativePeer("otter");
  peer.line(line);
  expect((await peer.find((frame) => frame.error !== undefined)).error).toMatchObject({ code });
  expect((await peer.request("session/list", {})).result).toEqual({ sessions: [] });
});
