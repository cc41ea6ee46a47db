import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore } from "@chimera/event-store";
import { describe, expect, onTestFinished, test } from "vitest";
import type { OwnedSession, Sessions } from "../src/index.js";
import { makeSessions, recordsOf, speaking, typesOf } from "./fixture.js";

/** Runs the crashing process, kills it in its second turn and starts over with what it left. */
async function crash(): Promise<{ sessions: Sessions; id: string; seenByModel: () => unknown }> {
  const root = mkdtempSync(join(tmpdir(), "session-crash-"));
  const child = spawn(process.execPath, [join(import.meta.dirname, "fixtures", "crashing.mjs"), root], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "exit");
  const store = createFileStore<SessionEvent, Summary>({ root });
  let seen: unknown;
  const sessions = makeSessions(
    (turn, context) => {
      seen = turn.history;
      return speaking("back again")(turn, context);
    },
    { store },
  );
  onTestFinished(async () => {
    await sessions.shutdown();
    await store.close();
    rmSync(root, { recursive: true, force: true });
  });
  return { sessions, id: String(line).trim(), seenByModel: () => seen };
}

async function crashAndLoad(): Promise<{
  session: OwnedSession;
  records: SessionRecord[];
  seenByModel: () => unknown;
}> {
  const { sessions, id, seenByModel } = await crash();
  const session = await sessions.load(id);
  return { session, records: await recordsOf(sessions, id), seenByModel };
}

describe("a session whose process was killed in a turn", { tags: ["needs-files"] }, () => {
  test("is recovered: question denied, call failed, turn ended with an error, waiting prompt cancelled", async () => {
    const { records, session } = await crashAndLoad();
    const interrupted = records.filter((record) => record.turn === 1);
    expect(typesOf(interrupted).slice(-5)).toEqual([
      "permission_resolved",
      "tool_result",
      "error",
      "turn_end",
      "agent_result",
    ]);
    expect(interrupted.at(-5)?.metadata).toMatchObject({ decision: "deny" });
    expect(interrupted.at(-4)?.metadata).toMatchObject({ call_id: "c1", success: false });
    expect(interrupted.at(-1)?.metadata).toMatchObject({ success: false, error: expect.stringContaining("process") });
    expect(typesOf(records.filter((record) => record.turn === 2))).toEqual(["user_message", "cancelled"]);
    expect(records.map((record) => record.seq)).toEqual(records.map((_, index) => index + 1));
    expect(session.state).toBe("idle");
  });

  test("is recovered before it is torn down, also if nobody loads it", async () => {
    const { sessions, id } = await crash();
    await sessions.tearDown(id);
    const types = typesOf(await recordsOf(sessions, id));
    expect(types.slice(-7)).toEqual([
      "permission_resolved",
      "tool_result",
      "error",
      "turn_end",
      "agent_result",
      "cancelled",
      "torn_down",
    ]);
    expect(await sessions.logs.readSummary(id)).toMatchObject({ closed: true, state: "idle", success: false });
    await expect(sessions.tearDown(id)).rejects.toMatchObject({ code: "session_not_found" });
  });

  test("takes the next prompt, and the model sees a well-formed conversation", async () => {
    const { session, seenByModel } = await crashAndLoad();
    const { turn } = session.prompt({ text: "fourth" });
    await session.idle();
    expect(session.conversation.turns[turn]?.result).toMatchObject({ success: true, output: "back again" });
    expect(seenByModel()).toEqual([
      { role: "user", text: "first" },
      { role: "assistant", parts: [{ type: "text", text: "answer 0" }] },
      { role: "user", text: "second" },
      {
        role: "assistant",
        parts: [
          { type: "text", text: "answer 1" },
          { type: "call", id: "c1", name: "Bash", args: { command: "ls" } },
        ],
      },
      { role: "tool", id: "c1", name: "Bash", success: false, output: expect.stringContaining("process") },
    ]);
  });
});
