import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as v from "valibot";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentOptions, Ask, Tool } from "../../src/index.js";
import { createScriptedModel, parseScript, type ScriptInput } from "../../src/scripted.js";
import { writeTool } from "../../src/tools/index.js";
import { of, resultsOf, takeTurn, toolNamed } from "../take-turn.js";

type Reply = ScriptInput["turns"][number]["steps"][number]["reply"];

/** One step with these calls, then a final text. */
const calling = (reply: Reply, tools: readonly Tool[], more: Partial<AgentOptions> = {}): AgentOptions => ({
  resolveModel: () =>
    createScriptedModel(parseScript({ turns: [{ steps: [{ reply }, { reply: [{ text: "ok" }] }] }] })),
  tools,
  ...more,
});

const echo = toolNamed("echo", async (input) => ({ success: true, output: JSON.stringify(input) }));

describe("tool calls", () => {
  it("are announced together before any of them runs", async () => {
    const events = await takeTurn(
      calling(
        [
          { call: "echo", args: { n: 1 } },
          { call: "ECHO", args: { n: 2 } },
        ],
        [echo],
      ),
    );
    const order = events.map((event) => event.type).filter((type) => type === "tool_call" || type === "tool_result");
    expect(order).toEqual(["tool_call", "tool_call", "tool_result", "tool_result"]);
    expect(of(events, "tool_call").map((call) => [call.tool, call.args])).toEqual([
      ["echo", { n: 1 }],
      ["echo", { n: 2 }],
    ]);
  });

  it("run with corrected arguments, and go back to the provider as they were written", async () => {
    const seen: unknown[] = [];
    const lines = toolNamed("lines", async (input) => ({ success: true, output: JSON.stringify(input) }), {
      input: v.object({ path: v.string(), limit: v.optional(v.number()) }),
      inputSchema: {
        type: "object",
        properties: { path: { type: "string" }, limit: { type: "integer", minimum: 1 } },
        required: ["path"],
      },
    });
    const hidden = { ...lines, name: "hidden", deferred: true };
    const forward = toolNamed("forward", echo.run, { forwards: true });
    const events = await takeTurn(
      calling(
        [
          { call: "functions.Lines", args: { file_path: "a", limit: "0" } },
          { call: "forward", args: { name: "hidden", arguments: { path: "b", limit: null } } },
        ],
        [lines, forward, hidden],
      ),
    );
    for (const { tool, args } of of(events, "tool_call")) seen.push([tool, args]);
    expect(seen).toEqual([
      ["lines", { path: "a", limit: 1 }],
      ["hidden", { path: "b" }],
    ]);
    expect(of(events, "part_end").map(({ seal }) => seal?.data)).toEqual([
      { args: '{"file_path":"a","limit":"0"}' },
      { name: "forward", args: '{"name":"hidden","arguments":{"path":"b","limit":null}}' },
    ]);
  });

  it("of a forwarding tool never lose their arguments", async () => {
    const wipe = { ...echo, name: "wipe", deferred: true };
    const forward = toolNamed("forward", echo.run, { forwards: true });
    const events = await takeTurn(
      calling(
        [
          { call: "forward", args: { name: "wipe", arguments: '{"only": "old", ' } },
          { call: "forward", args: { name: "wipe", arguments: 5 } },
          { call: "forward", args: { name: "wipe", only: "old" } },
          { call: "forward", args: { name: "wipe", arguments: '{"only":"old"}' } },
        ],
        [forward, wipe],
      ),
    );
    expect(of(events, "tool_result").map(({ success, output }) => (success ? output : "refused"))).toEqual([
      "refused",
      "refused",
      '{"only":"old"}',
      '{"only":"old"}',
    ]);
  });

  it("with a deep value hidden in text are refused with a reason, and the turn continues", async () => {
    const list = toolNamed("list", echo.run, {
      inputSchema: { type: "object", properties: { items: { type: "array" } } },
    });
    const items = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
    const events = await takeTurn(calling([{ call: "list", args: { items } }], [list]));
    expect(of(events, "tool_result")).toMatchObject([{ success: false, output: expect.stringContaining("nested") }]);
    expect(of(events, "agent_result")).toMatchObject([{ success: true }]);
  });

  it("are found in the text of a model that writes calls as text, and of no other model", async () => {
    const text = '<tool_call>{"name":"echo","arguments":{"n":1}}</tool_call>';
    const script = { turns: [{ steps: [{ reply: [{ text }] }, { reply: [{ text: "ok" }] }] }] };
    const model = () => createScriptedModel(parseScript(script));
    const small = await takeTurn({ resolveModel: () => ({ ...model(), textCalls: true }), tools: [echo] });
    expect(of(small, "tool_call").map(({ tool, args }) => [tool, args])).toEqual([["echo", { n: 1 }]]);
    expect(of(small, "agent_result")).toMatchObject([{ success: true, output: "ok" }]);
    const large = await takeTurn({ resolveModel: model, tools: [echo] });
    expect(of(large, "agent_result")).toMatchObject([{ success: true, output: text }]);
  });

  it("never put half a character into the log, whatever is cut", async () => {
    const long = toolNamed("long", async () => ({ success: true, output: `x${"😀".repeat(150_000)}` }));
    const named = `${"n".repeat(119)}😀`;
    const events = await takeTurn(calling([{ call: "long" }, { call: named }], [long]));
    const outputs = of(events, "tool_result").map((result) => result.output);
    expect(outputs.join()).toContain("more characters were left out");
    expect(outputs.join()).toContain("No tool is called");
    // Throws if half a character is left.
    for (const event of events) encodeURIComponent(Object.values(event.metadata).join(""));
  });

  it.each([
    ["too long", { text: "x".repeat(1024 * 1024) }, /more than 1048576: send less/],
    ["of too many parts", { list: Array(30_000).fill(0) }, /too many parts/],
  ])("with arguments that are %s are not run, and the log does not keep them", async (_, args, problem) => {
    const events = await takeTurn(calling([{ call: "echo", args }], [echo]));
    expect(of(events, "tool_call")[0]?.args).toEqual({});
    expect(of(events, "tool_result")[0]).toMatchObject({ success: false, output: expect.stringMatching(problem) });
  });

  it("of reading tools run side by side; calls that change something run in order", async () => {
    const log: string[] = [];
    const timed = async (name: string) => {
      log.push(`+${name}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
      log.push(`-${name}`);
      return { success: true, output: name };
    };
    const read = toolNamed("read", (input) => timed(String(input["n"])));
    const write = toolNamed("write", (input) => timed(String(input["n"])), { parallel: false, kind: "edit" });
    await takeTurn(
      calling(
        [
          { call: "read", args: { n: "a" } },
          { call: "read", args: { n: "b" } },
          { call: "write", args: { n: "c" } },
          { call: "write", args: { n: "d" } },
          { call: "read", args: { n: "e" } },
        ],
        [read, write],
      ),
    );
    expect(log).toEqual(["+a", "+b", "-a", "-b", "+c", "-c", "+d", "-d", "+e", "-e"]);
  });

  it("that cannot run return the reason to the model", async () => {
    const strict = toolNamed("strict", echo.run, { input: v.object({ path: v.string() }) });
    const thrower = toolNamed("thrower", async () => {
      throw new Error("disk on fire");
    });
    const rude = toolNamed("rude", () => {
      throw new Error("not even a promise");
    });
    const vague = toolNamed("vague", echo.run, {
      describe: () => {
        throw new Error("cannot say");
      },
    });
    const events = await takeTurn(
      calling(
        [
          { call: "nothing" },
          { call: "strict", args: { path: 7 } },
          { call: "echo", args: '{"path": ' },
          { call: "echo", args: "[1]" },
          { call: "thrower" },
          { call: "rude" },
          { call: "vague" },
          { call: "" },
        ],
        [strict, echo, thrower, rude, vague],
      ),
    );
    const results = resultsOf(events);
    expect(results.map((result) => result.success)).toEqual(Array(8).fill(false));
    const outputs = results.map((result) => result.output);
    expect(outputs[0]).toMatch(/No tool is called "nothing".*strict, echo/s);
    expect(outputs[1]).toMatch(/path.*string/is);
    expect(outputs[2]).toMatch(/not valid JSON/);
    expect(outputs[3]).toMatch(/JSON object/);
    expect(outputs[4]).toMatch(/disk on fire/);
    expect(outputs[5]).toMatch(/not even a promise/);
    expect(outputs[6]).toMatch(/cannot say/);
    expect(events.at(-1)?.metadata).toMatchObject({ success: true, tool_calls_total: 8 });
  });

  it("get ids that are unique in the conversation, whatever the model sends", async () => {
    const history = [
      { role: "user", text: "before" },
      { role: "assistant", parts: [{ type: "call", id: "call_1", name: "echo", args: {} }] },
      { role: "tool", id: "call_1", name: "echo", output: "x", success: true },
    ] as const;
    const reply: Reply = [
      { call: "echo", id: "call_1" },
      { call: "echo", id: "call_1" },
      { call: "echo", id: "" },
      { call: "echo", id: "bad id/with spaces" },
      { call: "echo", id: "fine-1" },
    ];
    const options = calling(reply, [echo]);
    const script = parseScript({ turns: [{ steps: [{ reply: [] }] }, { steps: [{ reply }, { reply: [] }] }] });
    const events = await takeTurn({ ...options, resolveModel: () => createScriptedModel(script) }, { history });
    const ids = of(events, "tool_call").map((call) => call.call_id);
    expect(ids).not.toContain("call_1");
    expect(ids[4]).toBe("fine-1");
    for (const id of ids) expect(id).toMatch(/^[\w-]{1,40}$/);
  });

  it("may use only the tools that the turn allows, by any of their names", async () => {
    const named = toolNamed("Read", echo.run, { aliases: ["read_file"] });
    const events = await takeTurn(calling([{ call: "read_file" }, { call: "echo" }], [named, echo]), {
      settings: { allowedTools: ["READ_FILE"] },
    });
    expect(resultsOf(events).map((result) => result.success)).toEqual([true, false]);
  });

  it("may be many at once without Node's warning about listeners", async () => {
    const warnings: Error[] = [];
    const hear = (warning: Error): void => void warnings.push(warning);
    process.on("warning", hear);
    const patient = toolNamed("patient", async (_input, { signal }) => {
      for (let n = 0; n < 5; n++) signal.addEventListener("abort", () => {});
      await new Promise((resolve) => setTimeout(resolve, 5));
      return { success: true, output: "" };
    });
    await takeTurn(
      calling(
        Array.from({ length: 20 }, () => ({ call: "patient" })),
        [patient],
      ),
    );
    process.off("warning", hear);
    expect(warnings).toEqual([]);
  });

  it("cannot flood the model", async () => {
    const loud = toolNamed("loud", async () => ({ success: true, output: "x".repeat(5_000_000) }));
    const events = await takeTurn(calling([{ call: "loud" }], [loud]));
    expect(of(events, "tool_result")[0]?.output.length).toBeLessThan(201_000);
  });

  it("are the entries of the plan until a todo list replaces it", async () => {
    const plain = await takeTurn(calling([{ call: "echo" }], [echo]));
    expect(of(plain, "plan").map((plan) => plan.entries.map((entry) => entry.status))).toEqual([
      ["in_progress"],
      ["completed"],
    ]);
    const todo = toolNamed("todo", async (_input, context) => {
      context.emit({ type: "plan", metadata: { entries: [{ content: "mine", priority: "high", status: "pending" }] } });
      return { success: true, output: "noted" };
    });
    const planned = await takeTurn(calling([{ call: "todo" }], [todo]));
    expect(of(planned, "plan").at(-1)?.entries).toEqual([{ content: "mine", priority: "high", status: "pending" }]);
  });
});

describe("permissions", () => {
  const change = toolNamed("change", async () => ({ success: true, output: "changed" }), {
    kind: "edit",
    parallel: false,
  });
  const asking = { settings: { autoApproveWrites: false } };

  it("are asked for after the reader of the events has taken the call", async () => {
    const seen: string[] = [];
    const ask = async ({ call_id }: { call_id: string }) => {
      expect(seen).toContain(call_id);
      return { decision: "allow", by: "client" } as const;
    };
    const events = await takeTurn(calling([{ call: "change" }, { call: "change" }], [change]), {
      ...asking,
      context: { ask },
      onEvent: (event) => {
        if (event.type === "tool_call") seen.push(event.metadata.call_id);
      },
    });
    expect(of(events, "tool_result").map((result) => result.output)).toEqual(["changed", "changed"]);
  });

  it("are not asked for when the path is invalid", async () => {
    const reply = ["a\0b", "", "~root/x", "x".repeat(300)].map((path) => ({
      call: "Write",
      args: { path, content: "" },
    }));
    let asked = 0;
    const ask = async () => {
      asked++;
      return { decision: "allow", by: "client" } as const;
    };
    const events = await takeTurn(calling(reply, [writeTool]), {
      settings: { autoApproveWrites: false },
      context: { ask },
    });
    expect(resultsOf(events).map((result) => result.output)).toEqual([
      expect.stringContaining("NUL"),
      expect.stringContaining("empty"),
      expect.stringContaining("~"),
      expect.stringContaining("too long"),
    ]);
    expect(asked).toBe(0);
  });

  it("that are denied fail the call and not the turn", async () => {
    const events = await takeTurn(calling([{ call: "change" }], [change]), asking);
    expect(of(events, "tool_result")).toMatchObject([{ success: false, error: "permission_denied" }]);
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "end_turn" }]);
  });

  it("are asked for with a description for the rules, and with a preview only when a person is asked", async () => {
    const asked: unknown[] = [];
    const shown: unknown[] = [];
    const showing = {
      ...change,
      aliases: ["alter"],
      preview: async () => [{ type: "text" as const, text: "as it would be" }],
    };
    const ask: Ask = async ({ tool, call, content }) => {
      asked.push([tool, call?.kind, call?.names]);
      if (typeof content === "function") shown.push(await content());
      return { decision: "always", by: "client" };
    };
    const events = await takeTurn(calling([{ call: "change" }], [showing]), { ...asking, context: { ask } });
    expect(asked).toEqual([["change", "edit", ["change", "alter"]]]);
    expect(shown).toEqual([[{ type: "text", text: "as it would be" }]]);
    expect(of(events, "tool_result")).toMatchObject([{ success: true }]);
  });

  it("are asked for without a preview that takes too long to compute", async () => {
    const slow = {
      ...change,
      preview: (_: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    };
    const shown: unknown[] = [];
    const ask: Ask = async ({ content }) => {
      if (typeof content === "function") shown.push(await content());
      return { decision: "allow", by: "client" };
    };
    // Node 20 collects signals that only a time limit holds.
    setFlagsFromString("--expose-gc");
    const collecting = setInterval(runInNewContext("gc") as () => void, 100);
    onTestFinished(() => clearInterval(collecting));
    const events = await takeTurn(calling([{ call: "change" }], [slow]), { ...asking, context: { ask } });
    expect(shown).toEqual([[{ type: "text", text: expect.stringContaining("takes longer than 2 s") }]]);
    expect(of(events, "tool_result")).toMatchObject([{ success: true }]);
  });

  it("that a sandbox refuses fail as a violation, with the message of the answer", async () => {
    const ask: Ask = async () => ({ decision: "deny", by: "rule", why: "no writes here", isViolation: true });
    const events = await takeTurn(calling([{ call: "change" }], [change]), { ...asking, context: { ask } });
    expect(of(events, "tool_result")).toMatchObject([
      { success: false, output: "no writes here", error: "sandbox_violation" },
    ]);
  });
});

it("a text of megabytes in one event is emitted in parts, complete to the last character", async () => {
  const whole = `${"x😀".repeat(600_000)}\ud83d`;
  const reply = [{ text: whole }];
  const resolveModel = () => createScriptedModel(parseScript({ turns: [{ steps: [{ reply }] }] }));
  const said = of(await takeTurn({ resolveModel }), "text_delta").map(({ text }) => text);
  expect(said.length).toBeGreaterThan(5);
  expect(said.join("") === whole).toBe(true);
  // Throws if a character was cut in two.
  for (const text of said.slice(0, -1)) encodeURIComponent(text);
});
