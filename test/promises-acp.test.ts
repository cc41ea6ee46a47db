// otter's native dialect beyond the frames of one turn: flags, faults, cancelling, bounded history, session/turn.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { connect, type Frame, nativePeer, type Peer, updatesOf } from "./peer.js";
import { type Surroundings, startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

const say = (text: string, more: object = {}) => ({ steps: [{ reply: [{ text, ...more }] }] });
const bash = (command: string) => ({
  steps: [{ reply: [{ text: "Running. " }, { call: "Bash", args: { command } }] }, { reply: [{ text: "Done." }] }],
});
const kindOf = (frame: Frame) => frame.params?.update?.sessionUpdate as string | undefined;
const allowAll = () => scratchTree({ "permissions.json": { rules: [{ tool: "*", action: "allow" }] } });

/** A peer of the native dialect whose model follows a script. */
async function scripted(
  turns: object[],
  args: string[] = [],
  given: Surroundings & { env?: object } = {},
): Promise<Peer> {
  const file = join(scratchTree({ "script.json": { turns, repeat: true } }), "script.json");
  const { env = {}, ...surroundings } = given;
  const all = ["serve", "--acp", "--model", `scripted:${file}`, ...args];
  const peer = connect(startProgram("otter", all, env as Record<string, string>, surroundings));
  await peer.request("initialize", {});
  return peer;
}
const open = async (peer: Peer) => (await peer.request("session/new", {})).result.sessionId as string;
const message = (peer: Peer, sessionId: string, text = "go") =>
  peer.request("session/message", { sessionId, message: text });

describe("flags", () => {
  test("--cwd and --model hold for every session", async () => {
    const cwd = scratchTree({ "elsewhere.txt": "x" });
    const peer = connect(startProgram("otter", ["serve", "--acp", "--cwd", cwd, "--model", "offline"]));
    await peer.request("initialize", {});
    const { result } = await peer.request("session/new", {});
    expect(result.cwd).toBe(cwd);
    expect((await message(peer, result.sessionId, "list files")).result.output).toContain("elsewhere.txt");
    expect((await peer.request("session/load", { sessionId: result.sessionId })).result.model).toBe("offline");
  });

  test("--mode and --agent hold for every session, and an editor is shown them", async () => {
    const peer = connect(startProgram("otter", ["serve", "--acp", "--mode", "auto", "--agent", "plan"]));
    await peer.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const { result } = await peer.request("session/new", { cwd: peer.program.cwd, mcpServers: [] });
    expect(result.modes.currentModeId).toBe("auto");
    expect(result.configOptions).toContainEqual(expect.objectContaining({ id: "agent", currentValue: "plan" }));
  });

  test("--allowed-tools Read,Grep,Bash leaves those, by either name", async () => {
    const expectTools = (tools: string[]) => ({ steps: [{ expect: { tools }, reply: [{ text: "Seen." }] }] });
    const peer = await scripted([expectTools(["Read", "search", "Bash"])], ["--allowed-tools", "Read,Grep,Bash"]);
    const sessionId = await open(peer);
    expect((await message(peer, sessionId)).result).toMatchObject({ output: "Seen." });
    const writes = {
      steps: [{ reply: [{ call: "Write", args: { path: "a.txt", content: "x" } }] }, say("Done.").steps[0]],
    };
    const without = await scripted([writes], ["--allowed-tools", "Read,Grep,Bash"], { home: allowAll() });
    await message(without, await open(without));
    expect(existsSync(join(without.program.cwd, "a.txt"))).toBe(false);
  });
});

test("usage_update carries token counts and the cost so far", async () => {
  const file = scratchTree({
    "script.json": {
      price: { input: 1, output: 10 },
      turns: [{ steps: [{ reply: [{ text: "Hi." }, { usage: { input: 1000, output: 100 } }] }] }],
      repeat: true,
    },
  });
  const peer = connect(startProgram("otter", ["serve", "--acp", "--model", `scripted:${file}/script.json`]));
  await peer.request("initialize", {});
  const sessionId = await open(peer);
  await message(peer, sessionId);
  await message(peer, sessionId);
  const usage = updatesOf(peer, sessionId).filter((frame) => kindOf(frame) === "usage_update");
  const last = JSON.stringify(usage.at(-1)?.params.update);
  expect(last).toMatch(/2000/);
  expect(last).toMatch(/200\b/);
  expect(last).toMatch(/0\.004/);
});

test("a question goes to the client alone: nothing is printed, nothing read, rules decide what asks", async () => {
  const rules = { rules: [{ tool: "Bash", action: "allow" }] };
  const peer = await nativePeer("otter", { CHIMERA_HOME: scratchTree({ "permissions.json": rules }) });
  const sessionId = await open(peer);
  await message(peer, sessionId, "run `touch allowed.txt`");
  expect(existsSync(join(peer.program.cwd, "allowed.txt"))).toBe(true);
  expect(peer.frames.some((frame) => kindOf(frame) === "permission_request")).toBe(false);
  const before = peer.program.stderr();
  void message(peer, sessionId, "write note.txt: hello");
  await peer.find((frame) => kindOf(frame) === "permission_request");
  expect(peer.program.stderr()).toBe(before);
  expect((await peer.request("session/load", { sessionId })).result.state).toBe("running");
});

test("sessions run side by side: one waits, one is cancelled, one answers", async () => {
  const peer = await nativePeer("otter");
  const [a, b, c] = [await open(peer), await open(peer), await open(peer)];
  const waits = message(peer, a, "write a.txt: x");
  const cancelled = message(peer, b, "write b.txt: x");
  await peer.find((frame) => kindOf(frame) === "permission_request" && frame.params.sessionId === a);
  await peer.find((frame) => kindOf(frame) === "permission_request" && frame.params.sessionId === b);
  expect((await message(peer, c, "list files")).result.stopReason).toBe("end_turn");
  await peer.request("session/cancel", { sessionId: b });
  expect((await cancelled).result.stopReason).toBe("cancelled");
  const states = await Promise.all([a, b, c].map((id) => peer.request("session/load", { sessionId: id })));
  expect(states.map(({ result }) => result.state)).toEqual(["running", "idle", "idle"]);
  await peer.request("session/cancel", { sessionId: a });
  await waits;
});

test("a session is stored below eventlog/otter-<id> and another process loads it", async () => {
  const first = await nativePeer("otter");
  const sessionId = await open(first);
  await message(first, sessionId, "list files");
  first.program.child.stdin.end();
  await first.program.exited;
  const dir = join(first.program.home, "eventlog", sessionId);
  expect(sessionId).toMatch(/^otter-/);
  expect(JSON.parse(readFileSync(join(dir, "summary.json"), "utf8"))).toMatchObject({ session_id: sessionId });
  const { cwd, home } = first.program;
  const second = connect(startProgram("otter", ["serve", "--acp"], {}, { cwd, home }));
  await second.request("initialize", {});
  expect((await second.request("session/load", { sessionId })).result).toMatchObject({ sessionId, state: "idle" });
  expect((await message(second, sessionId, "list files")).result.stopReason).toBe("end_turn");
});

describe("faults", () => {
  test("an agent that fails is -32000 with name, message and stack, and the session goes on", async () => {
    const peer = await scripted([{ steps: [{ reply: [{ error: { code: "bad_request" } }] }] }, say("Fine again.")]);
    const sessionId = await open(peer);
    expect((await message(peer, sessionId)).error).toMatchObject({
      code: -32000,
      data: { name: expect.any(String), message: expect.any(String), stack: expect.any(String) },
    });
    expect((await message(peer, sessionId)).result.output).toBe("Fine again.");
  });

  test("a journal that cannot be written is an answer that says why, and the server recovers", async () => {
    const peer = await nativePeer("otter");
    const journal = join(peer.program.home, "eventlog");
    rmSync(journal, { recursive: true, force: true });
    writeFileSync(journal, "in the way");
    const { error } = await peer.request("session/new", {});
    expect(error).toMatchObject({ code: -32000, message: expect.stringContaining("failed (ENOTDIR): try again") });
    rmSync(journal);
    const sessionId = await open(peer);
    expect((await message(peer, sessionId, "list files")).result.stopReason).toBe("end_turn");
  });
});

describe("cancelling", () => {
  test("ends the command that runs, with all it started, and keeps what was said", async () => {
    const peer = await scripted([bash("sleep 60 & echo $! > pid; wait")], [], { home: allowAll() });
    const sessionId = await open(peer);
    const reply = message(peer, sessionId);
    const file = join(peer.program.cwd, "pid");
    await expect.poll(() => existsSync(file) && readFileSync(file, "utf8").trim()).toMatch(/^\d+$/);
    const pid = Number(readFileSync(file, "utf8"));
    await peer.request("session/cancel", { sessionId });
    expect((await reply).result).toMatchObject({ stopReason: "cancelled", output: "Running. " });
    await expect.poll(() => isAlive(pid), { timeout: 5000 }).toBe(false);
  });

  test("the session is cancelled while the turn unwinds, then idle", async () => {
    const peer = await scripted([bash("trap '' TERM INT HUP; touch begun; sleep 5")], [], { home: allowAll() });
    const sessionId = await open(peer);
    const reply = message(peer, sessionId);
    await expect.poll(() => existsSync(join(peer.program.cwd, "begun"))).toBe(true);
    await peer.request("session/cancel", { sessionId });
    expect((await peer.request("session/load", { sessionId })).result.state).toBe("cancelled");
    await reply;
    expect((await peer.request("session/load", { sessionId })).result.state).toBe("idle");
  });
});

describe("history", () => {
  const long = [say("word ".repeat(1200), { chunks: 1200 })];
  const resume = async (peer: Peer, sessionId: string, sinceEventId: number) => {
    const before = updatesOf(peer, sessionId).length;
    const { result } = await peer.request("session/resume", { sessionId, sinceEventId });
    return {
      result,
      ids: updatesOf(peer, sessionId)
        .slice(before)
        .map((frame) => frame.params.eventId),
    };
  };

  test("1024 updates are kept; a cursor before them gets a notice", async () => {
    const peer = await scripted(long, ["--no-coalesce"]);
    const sessionId = await open(peer);
    await message(peer, sessionId);
    const last = updatesOf(peer, sessionId).length;
    expect(last).toBeGreaterThan(1100);
    const { result, ids } = await resume(peer, sessionId, 0);
    expect(result).toEqual({ sessionId, replayed: 1024, lastEventId: last, truncated: true });
    expect(ids).toEqual(Array.from({ length: 1024 }, (_, index) => last - 1024 + 1 + index));
    expect((await resume(peer, sessionId, last - 1024)).result.truncated).toBe(false);
  });

  test("OTTER_ACP_DEFAULT_HISTORY_SIZE sets how many", async () => {
    const peer = await scripted([say("one two three four five six ", { chunks: 6 })], ["--no-coalesce"], {
      env: { OTTER_ACP_DEFAULT_HISTORY_SIZE: "3" },
    });
    const sessionId = await open(peer);
    await message(peer, sessionId);
    expect((await resume(peer, sessionId, 0)).result).toMatchObject({ replayed: 3, truncated: true });
  });
});

describe("session/turn", () => {
  test("its clients get the records, under names of their own", async () => {
    const read = { steps: [{ reply: [{ call: "Read", args: { path: "README.md" } }] }, say("Read it.").steps[0]] };
    const peer = await scripted([read, { steps: [{ reply: [{ error: { code: "bad_request" } }] }] }]);
    const sessionId = await open(peer);
    const reply = await peer.request("session/turn", { sessionId, prompt: "read" });
    expect(reply.result).toMatchObject({ sessionId, stopReason: "end_turn", output: "Read it." });
    await peer.request("session/turn", { sessionId, prompt: "fail" });
    const sent = peer.frames.filter((frame) => frame.method && frame.id === undefined);
    const methods = new Set(sent.map((frame) => frame.method));
    for (const name of ["textDelta", "toolCall", "toolResult", "stepStart", "stepEnd", "turnEnd", "error"]) {
      expect(methods).toContain(name);
    }
    expect(methods).not.toContain("session/update");

    const { result } = await peer.request("session/get", { sessionId });
    expect(result).toMatchObject({ sessionId, session_id: sessionId, summary: expect.any(Object) });
    const records = new Map(result.events.map((event: { seq: number }) => [event.seq, event]));
    for (const { params } of sent) {
      const { sessionId: session, ...record } = params;
      expect(session).toBe(sessionId);
      expect(record).toEqual(records.get(record.seq));
    }
  });
});

/** True for a living process; a zombie counts as ended. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
