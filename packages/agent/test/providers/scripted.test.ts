import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { anthropicFirst, createModels, isAgentError } from "../../src/index.js";
import { createScriptedModel, parseScript, type ScriptInput } from "../../src/scripted.js";
import { of, takeTurn, textOf, toolNamed } from "../take-turn.js";

const play = (script: ScriptInput) => {
  const model = createScriptedModel(parseScript(script));
  return { resolveModel: () => model };
};
const say = (text: string): ScriptInput["turns"][number] => ({ steps: [{ reply: [{ text }] }] });
const before = (...prompts: string[]) =>
  prompts.flatMap((text) => [
    { role: "user", text } as const,
    { role: "assistant", parts: [{ type: "text", text: "…" }] } as const,
  ]);

describe("a script", () => {
  it("answers by the conversation alone, so that sessions can share it", async () => {
    const options = play({ turns: [say("first"), say("second")] });
    expect(textOf(await takeTurn(options, { history: before("a"), number: 1 }))).toBe("second");
    expect(textOf(await takeTurn(options))).toBe("first");
    const over = await takeTurn(options, { history: before("a", "b"), number: 2 });
    expect(of(over, "error")).toEqual([
      { name: "script", message: "the script has no step 0 in turn 2", retryable: false },
    ]);
    const again = play({ repeat: true, turns: [say("first"), say("second")] });
    expect(textOf(await takeTurn(again, { history: before("a", "b"), number: 2 }))).toBe("first");
  });

  it("cuts text into the given number of deltas, never inside a character", async () => {
    const events = await takeTurn(play({ turns: [{ steps: [{ reply: [{ text: "a👩‍🚀b見c", chunks: 4 }] }] }] }));
    expect(textOf(events)).toBe("a👩‍🚀b見c");
    expect(of(events, "text_delta")).toHaveLength(4);
    for (const { text } of of(events, "text_delta")) expect(text).not.toMatch(/[\uD800-\uDBFF]$|^[\uDC00-\uDFFF]/);
  });

  it.each([
    [{ prompt: "other" }, 'expected a prompt with "other", got "go"'],
    [{ system: "pirate" }, 'expected a system with "pirate"'],
    [{ tools: ["fly"] }, 'expected a tool named "fly"'],
    [{ result: "42" }, 'expected a result with "42", got ""'],
  ])("that expects %o reports what it got instead", async (expectation, message) => {
    const events = await takeTurn(play({ turns: [{ steps: [{ expect: expectation, reply: [] }] }] }));
    expect(of(events, "error")).toMatchObject([{ name: "script", message: expect.stringContaining(message) }]);
  });

  it("continues when its expectations are met", async () => {
    const answer = toolNamed("answer", async () => ({ success: true, output: "it is 42" }));
    const script: ScriptInput = {
      turns: [
        {
          steps: [
            { expect: { tools: ["answer"], prompt: "go" }, reply: [{ call: "answer" }] },
            { expect: { result: "42" }, reply: [{ text: "42." }] },
          ],
        },
      ],
    };
    const events = await takeTurn({ ...play(script), tools: [answer] });
    expect(of(events, "agent_result")).toMatchObject([{ success: true, steps: 2 }]);
  });

  it("can continue a reply that it broke off, and sum the conversation up", async () => {
    const steps = [{ reply: [{ text: "Half a " }, { cut: true as const }] }, { reply: [{ text: "sentence." }] }];
    const script = {
      ...play({ summary: "All of it.", turns: [{ steps }] }),
      clock: { now: () => 0, sleep: async () => {} },
    };
    expect(textOf(await takeTurn(script))).toBe("Half a sentence.");
    const history = [
      { role: "user", text: "hi" },
      { role: "assistant", parts: [{ type: "text", text: "hello" }] },
    ] as const;
    const events = await takeTurn(script, { compact: { focus: "" }, history, number: 1 });
    expect(of(events, "compaction")).toEqual([{ summary: "All of it.", from_turn: 2 }]);
  });

  it.each([
    [{}, "turns"],
    [{ turns: [] }, "turns"],
    [{ turns: [{ steps: [{ reply: [{ text: 1 }] }] }] }, "turns.0.steps.0.reply.0"],
    [{ turns: [{ steps: [{ reply: [], stop: "never" }] }] }, "turns.0.steps.0.stop"],
    [[], "turns"],
    [null, "its top"],
  ])("with a mistake is refused with its place: %j", (script, place) => {
    try {
      parseScript(script);
      expect.unreachable();
    } catch (error) {
      expect(isAgentError(error) && error.code).toBe("script");
      expect(String(error)).toContain(place);
    }
  });

  it("is a model like any other: `scripted:FILE`", async () => {
    const directory = await mkdtemp(join(tmpdir(), "agent-script-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const file = join(directory, "hello.json");
    await writeFile(file, JSON.stringify({ turns: [say("from a file")] }));
    const options = { resolveModel: createModels({ env: {}, chain: anthropicFirst }) };
    expect(textOf(await takeTurn(options, { settings: { model: `scripted:${file}` } }))).toBe("from a file");
    await writeFile(file, JSON.stringify({ turns: [say("edited")] }));
    expect(textOf(await takeTurn(options, { settings: { model: `scripted:${file}` } }))).toBe("edited");
    const before = process.resourceUsage().maxRSS;
    const endless = await takeTurn(options, { settings: { model: "scripted:/dev/zero" } });
    expect(process.resourceUsage().maxRSS - before).toBeLessThan(100 * 1024);
    expect(JSON.stringify(endless)).toContain("the script /dev/zero cannot be read");
    const missing = await takeTurn(options, { settings: { model: `scripted:${file}.no` } });
    expect(of(missing, "error")).toMatchObject([
      { name: "script", message: expect.stringContaining("cannot be read") },
    ]);
  });
});
