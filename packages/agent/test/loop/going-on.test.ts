import { describe, expect, it } from "vitest";
import type { Tool } from "../../src/index.js";
import { agentOn } from "../providers/wires.js";
import { listen, of, takeTurn, textOf, toolNamed } from "../take-turn.js";
import { serveSlowly, serving, vendors } from "./replies.js";

const ran: unknown[] = [];
const look: Tool = toolNamed("look", async (input) => {
  ran.push(input);
  return { success: true, output: "seen" };
});
const call = (args = '{"path":"a"}') => ({ call: "look", args });

describe.each(vendors)("%s: a reply that breaks off", (_name, vendor) => {
  const cut = (text: string) => ({ writes: [vendor.begin({ text })], after: "cut" as const });

  it("after a tool and some text is continued, also twice in a row, and ends with the model's last text", async () => {
    const { options, server, sent, waits } = await serving(vendor, [
      vendor.reply([call()], "calls"),
      cut("The file says "),
      cut("that all is "),
      vendor.reply([{ text: "well." }]),
    ]);
    const events = await takeTurn({ ...options, tools: [look] });
    expect(textOf(events)).toBe("The file says that all is well.");
    expect(of(events, "agent_result")).toMatchObject([
      { output: "The file says that all is well.", success: true, steps: 4, tool_calls_total: 1 },
    ]);
    expect(of(events, "notice").map(({ level }) => level)).toEqual(["warning", "warning"]);
    expect(waits).toEqual([1000, 2000]);
    expect(sent(2)).toContain("The file says ");
    expect(sent(2)).toContain("broke off");
    expect(sent(3)).toContain("that all is ");
    expect(server.requests).toHaveLength(4);
  });

  it.each([
    ["begins again from the start", "One two three four five six.", "One two three four five six."],
    ["says its last words again", "two three four five six.", "One two three four five six."],
    ["goes on", " five six.", "One two three four five six."],
    ["has nothing to add", "One two three four", "One two three four"],
    ["says something else", "Let me put it differently.", "One two three fourLet me put it differently."],
  ])("is shown only once when the model then %s", async (_how, then, shown) => {
    const { options } = await serving(vendor, [cut("One two three four"), vendor.reply([{ text: then }])]);
    const events = await takeTurn(options);
    expect(textOf(events)).toBe(shown);
    expect(of(events, "agent_result")).toMatchObject([{ output: shown, success: true }]);
  });

  it("in a call does not run it, and the repeated call runs once under its own id", async () => {
    ran.length = 0;
    const broken = { writes: [vendor.begin({ text: "Looking." }, { ...call('{"path":'), id: "same" })], after: "cut" };
    const { options } = await serving(vendor, [
      broken as { writes: string[]; after: "cut" },
      vendor.reply([{ ...call(), id: "same" }], "calls"),
      vendor.reply([{ text: "Done." }]),
    ]);
    const events = await takeTurn({ ...options, tools: [look] });
    expect(ran).toEqual([{ path: "a" }]);
    expect(of(events, "tool_call").map(({ call_id }) => call_id)).toEqual(["same"]);
    expect(textOf(events)).toBe("Looking.Done.");
  });

  it("after reasoning only is requested again, and the reasoning is not sent back", async () => {
    const { options, sent } = await serving(vendor, [
      { writes: [vendor.begin({ thought: "Hmm, let me" })], after: "cut" },
      vendor.reply([{ text: "Done." }]),
    ]);
    const events = await takeTurn(options);
    expect(textOf(events)).toBe("Done.");
    expect(sent(1)).not.toContain("Hmm");
    expect(sent(1)).toBe(sent(0));
  });

  it("every time fails in the end, and its text is shown only once", async () => {
    const { options, server, waits } = await serving(vendor, [cut("Half a sentence ")]);
    const events = await takeTurn(options);
    expect(textOf(events)).toBe("Half a sentence ");
    expect(of(events, "error")).toMatchObject([{ name: "connection_lost" }]);
    expect(of(events, "agent_result")).toMatchObject([{ output: "Half a sentence ", success: false }]);
    expect(server.requests).toHaveLength(10);
    expect(waits.reduce((sum, wait) => sum + wait)).toBeGreaterThan(120_000);
  });

  it("goes back in the next turn as one reply", async () => {
    const { options, server } = await serving(vendor, [vendor.reply([{ text: "ok" }])]);
    const history = [
      { role: "user", text: "hi" },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", text: "hm", seal: { provider: "anthropic", model: "x", data: {} } },
          { type: "text", text: "Half a " },
        ],
      },
      { role: "assistant", parts: [{ type: "text", text: "sentence." }] },
    ] as const;
    await takeTurn(options, { history });
    const messages = server.requests[0]?.body["messages"] as { role: string }[] | undefined;
    const replies = messages?.filter(({ role }) => role === "assistant");
    expect(replies).toHaveLength(1);
    expect(JSON.stringify(replies).replaceAll(/[^\w .]/g, "")).toMatch(/Half a (?:typetexttext)?sentence\./);
  });
});

describe.each(vendors)("%s: a provider that is busy", (_name, vendor) => {
  const busy = (status: number, headers = {}, message = "Overloaded") => ({
    ...vendor.refuse(status, message),
    headers,
  });
  const end = vendor.reply([{ text: "At last." }]);

  it("nine times in a row is asked again for about two minutes", async () => {
    const { options, waits } = await serving(vendor, [...Array(9).fill(busy(529)), end]);
    const events = await takeTurn(options);
    expect(textOf(events)).toBe("At last.");
    expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30, 30, 30].map((seconds) => seconds * 1000));
    expect(of(events, "notice")[0]?.text).toContain("trying again in 1.0 s (1 of 9)");
  });

  it.each([
    ["75 seconds", { "retry-after": "75" }, "slow down", 75_000],
    ["ten minutes", { "retry-after": "600" }, "slow down", 600_000],
    ["3.2 s in its words", {}, "Rate limit reached. Please try again in 3.2s. Visit us.", 3_200],
    ["20 ms in its words", {}, "Please try again in 20ms.", 20],
    ["minutes in its words", {}, "Please try again in 7m12.48s. Need more?", 432_480],
    ["seconds spelled out", {}, "Please retry after 30 seconds.", 30_000],
  ])("gets the %s that it asks for", async (_what, headers, message, wait) => {
    const { options, waits } = await serving(vendor, [
      { ...busy(429, headers, message), writes: [JSON.stringify({ error: { type: "rate_limit_error", message } })] },
      end,
    ]);
    expect(textOf(await takeTurn(options))).toBe("At last.");
    expect(waits).toEqual([wait]);
  });

  it("and asks to wait for an hour is reported at once", async () => {
    const { options, waits } = await serving(vendor, [{ ...busy(429), headers: { "retry-after": "3600" } }, end]);
    expect(of(await takeTurn(options), "error")).toMatchObject([
      { name: "rate_limited", retryable: true, message: expect.stringContaining("for 60 minutes") },
    ]);
    expect(waits).toEqual([]);
  });

  it("is not waited for any longer once the turn is cancelled", async () => {
    const { options, server } = await serving(vendor, [{ ...busy(429), headers: { "retry-after": "300" } }, end]);
    const cancel = new AbortController();
    const sleep = (_ms: number, signal: AbortSignal) =>
      new Promise<void>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const events = await takeTurn(
      { ...options, clock: { now: () => 0, sleep } },
      { context: { signal: cancel.signal }, onEvent: (event) => event.type === "notice" && cancel.abort() },
    );
    expect(events.at(-1)?.type).toBe("cancelled");
    expect(server.requests).toHaveLength(1);
  });

  it("and stops in a reply is asked at most three times, because each reply is paid for", async () => {
    const { options, server } = await serving(vendor, [{ writes: [vendor.begin()], after: "hang" }]);
    const events = await takeTurn({ ...options, resolveModel: agentOn(vendor.wire, server.url, 200).resolveModel });
    expect(of(events, "error")).toMatchObject([{ name: "stalled" }]);
    expect(server.requests).toHaveLength(3);
  });
});

describe.each(vendors)("%s: a model that thinks for long", (_name, vendor) => {
  it("may take long while anything arrives", async () => {
    const [first, ...rest] = vendor.begin({ text: "At last." }).split(/(?<=\n\n)/);
    const alive = Array.from({ length: 24 }, () => vendor.wire.keepAlive);
    const server = await serveSlowly([
      first ?? "",
      ...alive,
      ...rest,
      vendor.reply([{ text: "" }]).slice((first ?? "").length),
    ]);
    const events = await takeTurn(agentOn(vendor.wire, server, 600));
    expect(textOf(events)).toBe("At last.");
    expect(of(events, "notice")).toEqual([]);
  });
});

describe.each(vendors)("%s: a reply with nothing in it", (_name, vendor) => {
  it.each([
    ["no part at all", []],
    ["a thought alone", [{ thought: "Nothing to say." }]],
    ["blanks alone", [{ text: " \n" }]],
  ])("(%s) after a tool is requested again, and the turn ends well", async (_what, parts) => {
    const { options, sent, server } = await serving(vendor, [
      vendor.reply([call()], "calls"),
      vendor.reply(parts),
      vendor.reply([{ text: "Done." }]),
    ]);
    const events = await takeTurn({ ...options, tools: [look] });
    expect(of(events, "agent_result")).toMatchObject([{ output: "Done.", success: true }]);
    expect(sent(2)).toContain("was empty");
    expect(server.requests).toHaveLength(3);
  });

  it("every time fails the turn after two more attempts", async () => {
    const { options, server } = await serving(vendor, [vendor.reply([])]);
    const events = await takeTurn(options);
    expect(of(events, "error")).toEqual([{ name: "empty_reply", message: expect.any(String), retryable: false }]);
    expect(of(events, "agent_result")).toMatchObject([{ success: false, output: "" }]);
    expect(of(events, "notice")).toHaveLength(2);
    expect(server.requests).toHaveLength(3);
  });

  it("with a full window counts as an overflow, and room is made", async () => {
    const full = { input: 1_000_000, output: 0 };
    const { options } = await serving(vendor, [
      vendor.reply([], "end", full),
      vendor.reply([{ text: "## Requests" }]),
      vendor.reply([{ text: "Done." }]),
    ]);
    const history = [
      { role: "user", text: "hi" },
      { role: "assistant", parts: [{ type: "text", text: "hello" }] },
    ] as const;
    const events = await takeTurn(options, { history, number: 1, seen: [0] });
    expect(of(events, "compaction")).toHaveLength(1);
    expect(of(events, "agent_result")).toMatchObject([{ output: "Done.", success: true }]);
  });
});

describe.each(vendors)("%s: a reply that reaches the output limit", (_name, vendor) => {
  it("in a text is continued", async () => {
    const { options, sent } = await serving(vendor, [
      vendor.reply([{ text: "One, two, " }], "limit"),
      vendor.reply([{ text: "three." }]),
    ]);
    const events = await takeTurn(options);
    expect(of(events, "agent_result")).toMatchObject([{ output: "One, two, three.", success: true }]);
    expect(sent(1)).toContain("reached the limit");
  });

  it("in a call does not run it, says so to the model, and runs the complete call that follows", async () => {
    ran.length = 0;
    const { options, sent } = await serving(vendor, [
      vendor.reply([{ text: "Looking." }, call('{"path":"a","content":"half of i')], "limit"),
      vendor.reply([call('{"path":"whole"}')], "calls"),
      vendor.reply([{ text: "Done." }]),
    ]);
    const events = await takeTurn({ ...options, tools: [look] });
    expect(ran).toEqual([{ path: "whole" }]);
    expect(sent(1)).toContain("(look)");
    expect(sent(1)).not.toContain("half of i");
    expect(sent(1)).not.toMatch(/tool_use|tool_calls/);
    expect(of(events, "tool_call")).toHaveLength(1);
    expect(of(events, "agent_result")).toMatchObject([{ output: "Done.", success: true }]);
  });

  it("again and again ends the turn after three more requests, and says why", async () => {
    const { options, server } = await serving(vendor, [vendor.reply([call('{"pa')], "limit")]);
    const events = await takeTurn({ ...options, tools: [look] });
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "max_tokens" }]);
    expect(of(events, "agent_result")).toMatchObject([{ success: false, error: expect.stringContaining("limit") }]);
    expect(of(events, "notice")).toHaveLength(3);
    expect(server.requests).toHaveLength(4);
  });
});

describe.each(vendors)("%s: an ending that only some servers know", (_name, vendor) => {
  it("that reports a failure fails the reply, which is then continued", async () => {
    const { options } = await serving(vendor, [
      vendor.reply([{ text: "Half of " }], "network_error"),
      vendor.reply([{ text: "it." }]),
    ]);
    expect(of(await takeTurn(options), "agent_result")).toMatchObject([{ output: "Half of it.", success: true }]);
  });

  it("that reports a filter counts as a refusal", async () => {
    const { options } = await serving(vendor, [vendor.reply([{ text: "I" }], "sensitive")]);
    const events = await takeTurn(options);
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "refusal" }]);
    expect(of(events, "agent_result")).toMatchObject([{ success: false }]);
  });

  it("that reports a full window counts as an overflow: room is made, and the reply is continued", async () => {
    const { options, sent } = await serving(vendor, [
      vendor.reply([call()], "calls"),
      vendor.reply([{ text: "It is " }], "model_context_window_exceeded"),
      vendor.reply([{ text: "## Requests\nLook." }]),
      vendor.reply([{ text: "fine." }]),
    ]);
    const events = await takeTurn({ ...options, tools: [look] });
    expect(of(events, "compaction")).toHaveLength(1);
    expect(of(events, "agent_result")).toMatchObject([{ output: "It is fine.", success: true }]);
    expect(sent(3)).toContain("It is ");
  });

  it("that is unknown counts as a normal end", async () => {
    const { options } = await serving(vendor, [vendor.reply([{ text: "Done." }], "because")]);
    expect(of(await takeTurn(options), "agent_result")).toMatchObject([{ output: "Done.", success: true }]);
  });
});

describe.each(vendors)("%s: a reply that is cut at any byte", (_name, vendor) => {
  it("shows each word once, runs each call once, and the turn ends well", async () => {
    const parts = [{ thought: "Hm. " }, { text: "Reading the file – 見る – now. " }, call()];
    const whole = Buffer.from(vendor.reply(parts, "calls"));
    const closing = vendor.reply([{ text: "All good." }]);
    const positions = Array.from({ length: whole.length }, (_, at) => at);
    const { options } = await serving(
      vendor,
      positions.flatMap((at) => [
        { writes: [whole.subarray(0, at)], after: "cut" as const },
        { writes: [whole] },
        { writes: [closing] },
      ]),
    );
    for (const at of positions) {
      ran.length = 0;
      const events = await listen({ ...options, tools: [look] });
      const told = [at, textOf(events), ran.length, of(events, "agent_result")[0]?.success];
      if (of(events, "notice").length === 0) {
        // The stop event had arrived, so nothing is requested again.
        expect(whole.subarray(0, at).toString()).toMatch(/"(?:stop_reason":"tool_use|finish_reason":"tool_calls)"/);
        break;
      }
      expect(told).toEqual([at, "Reading the file – 見る – now. All good.", 1, true]);
    }
  }, 60_000);
});
