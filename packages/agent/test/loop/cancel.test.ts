import { readFileSync } from "node:fs";
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createAgent } from "../../src/index.js";
import { createScriptedModel, parseScript, type ScriptInput } from "../../src/scripted.js";
import { createBashTool, localWorkspace } from "../../src/tools/index.js";
import { contextOf, of, takeTurn, toolNamed, turnOf } from "../take-turn.js";

const model = (steps: ScriptInput["turns"][number]["steps"]) => ({
  resolveModel: () => createScriptedModel(parseScript({ turns: [{ steps }] })),
});

/** Most wall-clock time of a cancel: the promised two seconds, with some room for a busy machine. */
const promised = 2_000 + 500;

describe("cancel", () => {
  it("at any event of a turn ends it in time and leaves no process behind", async () => {
    const cwd = await realpath(await mkdtemp(join(tmpdir(), "agent-cancel-")));
    onTestFinished(() => rm(cwd, { recursive: true, force: true }));
    // Prints its pid and its child's, ignores the request to stop, and would run for a minute.
    const command =
      "trap '' TERM INT; echo $$ >> pids; sh -c 'trap \"\" TERM INT; echo $$ >> pids; sleep 60' & echo up; wait";
    const options = {
      ...model([
        { reply: [{ thought: "Hm." }, { text: "Starting now.", chunks: 2 }, { call: "Bash", args: { command } }] },
        { reply: [{ text: "Never said." }] },
      ]),
      tools: [createBashTool()],
    };
    let last = 0;
    for (let at = 0; at <= last; at++) {
      const cancel = new AbortController();
      let cancelledAt = 0;
      const events = await takeTurn(options, {
        context: { signal: cancel.signal, workspace: localWorkspace(cwd) },
        onEvent: (event, index) => {
          last = Math.max(last, index);
          // The tool's first output is the last event that comes without a cancel.
          const stuck = event.type === "tool_progress";
          if (index !== at && !stuck) return;
          cancelledAt ||= performance.now();
          cancel.abort();
        },
      });
      expect(performance.now() - cancelledAt).toBeLessThan(promised);
      expect(events.at(-2)).toEqual({ type: "turn_end", metadata: { stop_reason: "cancelled" } });
      expect(events.at(-1)).toEqual({ type: "cancelled", metadata: { output: expect.any(String) } });
      if (at === last) break;
    }
    expect(last).toBeGreaterThan(6);
    const pids = (await readFile(join(cwd, "pids"), "utf8")).trim().split("\n").map(Number);
    expect(pids.length).toBeGreaterThan(1);
    await expect.poll(() => pids.filter(isAlive), { timeout: 3_000 }).toEqual([]);
  }, 60_000);

  it("gives up a tool that does not stop, with a failed result, and ignores its later events", async () => {
    const cancel = new AbortController();
    let emitLater: (() => void) | undefined;
    const deaf = toolNamed("deaf", (_input, { emit, callId }) => {
      emitLater = () => emit({ type: "tool_progress", metadata: { call_id: callId, stream: "stdout", chunk: "late" } });
      setTimeout(() => cancel.abort(), 10);
      return new Promise(() => {});
    });
    const options = { ...model([{ reply: [{ text: "Wait." }, { call: "deaf" }, { call: "deaf" }] }]), tools: [deaf] };
    const events = await takeTurn(options, { context: { signal: cancel.signal } });
    emitLater?.();
    expect(of(events, "tool_result").map((result) => result.success)).toEqual([false, false]);
    expect(events.at(-1)).toEqual({ type: "cancelled", metadata: { output: "Wait." } });
  });

  it("ends whatever else may hang: a provider, a permission, the search for a model", async () => {
    const hang = () => new Promise<never>(() => {});
    const change = toolNamed("change", async () => ({ success: true, output: "" }), { kind: "edit" });
    const deafModel = {
      provider: "deaf",
      id: "deaf",
      contextWindow: 1000,
      price: null,
      stream: () => ({ [Symbol.asyncIterator]: () => ({ next: hang, return: hang }) }),
    };
    const cases = [
      { resolveModel: hang },
      { resolveModel: () => deafModel },
      { ...model([{ reply: [{ call: "change" }] }]), tools: [change] },
      model([{ reply: [{ stall: true }] }]),
    ];
    for (const options of cases) {
      const cancel = new AbortController();
      setTimeout(() => cancel.abort(), 20);
      const context = { signal: cancel.signal, ask: hang };
      const events = await takeTurn(options, { context, settings: { autoApproveWrites: false } });
      expect(events.at(-1)?.type).toBe("cancelled");
    }
  });

  it("before the start of the turn leaves only its end", async () => {
    const events = await takeTurn(model([{ reply: [{ text: "x" }] }]), { context: { signal: AbortSignal.abort() } });
    expect(events.map((event) => event.type)).toEqual(["turn_end", "cancelled"]);
  });

  it("happens automatically when the consumer stops", async () => {
    let tell = (): void => {};
    const stopped = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const slow = toolNamed("slow", async (_input, { signal, emit, callId }) => {
      emit({ type: "tool_progress", metadata: { call_id: callId, stream: "stdout", chunk: "up" } });
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      tell();
      return { success: true, output: "" };
    });
    const agent = createAgent({ ...model([{ reply: [{ call: "slow" }] }]), tools: [slow] });
    for await (const event of agent(turnOf({}), contextOf({}))) if (event.type === "tool_progress") break;
    await stopped;
  });
});

/** Does not count a process that has ended and was not yet reaped. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
