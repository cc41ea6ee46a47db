import { describe, expect, it } from "vitest";
import { listen, of, resultsOf, takeTurn, textOf, toolNamed } from "../take-turn.js";
import { serveWire } from "./wire-server.js";
import { agentOn, said, type WireFormat, wires } from "./wires.js";

const tools = [
  toolNamed("look", async ({ path }) => ({ success: path !== "b.txt", output: `<${String(path)}>` }), {
    inputSchema: { type: "object", properties: { path: { type: "string" } } },
  }),
];
const converse = (wire: WireFormat, url: string) => takeTurn({ ...agentOn(wire, url), tools }, { prompt: "Look." });

/** The events that clients see, without durations, cost, caches and seals, which differ between vendors. */
const comparable = (events: Awaited<ReturnType<typeof takeTurn>>) =>
  events
    .filter(({ type }) => type !== "part_end")
    .map((event) =>
      JSON.parse(
        JSON.stringify(event, (key, value) =>
          /^(duration_ms|total_usd|size|cost|priced|input|cache)$/.test(key) ? 0 : value,
        ),
      ),
    );

describe.each(wires)("$name", (wire) => {
  it("streams thoughts and text, runs both calls, returns the results, and counts tokens", async () => {
    const server = await serveWire([{ writes: [wire.calling] }, { writes: [wire.closing] }]);
    const events = await converse(wire, server.url);
    expect(of(events, "thought_delta").map((delta) => delta.text)).toEqual(said.thoughts);
    expect(of(events, "text_delta").map((delta) => delta.text)).toEqual([...said.texts, ...said.closing]);
    expect(of(events, "tool_call").map(({ call_id, args }) => [call_id, args])).toEqual([
      ["call_a", { path: "a.txt" }],
      ["call_b", { path: "b.txt" }],
    ]);
    expect(resultsOf(events).map((result) => result.success)).toEqual([true, false]);
    const [input, output, cache, used] = wire.usage;
    expect(of(events, "usage")).toMatchObject([
      { input, output, cache, used },
      { input: 2 * input, output: 2 * output, cache: 2 * cache, used },
    ]);
    expect(of(events, "usage").at(-1)).toMatchObject({ priced: wire.priced, total_usd: expect.closeTo(0.0007, 2) });
    expect(events.at(-1)?.metadata).toMatchObject({ output: "All good.\n", success: true, steps: 2 });
    expect(server.requests.map((request) => request.path)).toEqual([wire.path, wire.path]);
    expect(wire.resultsIn(server.requests[1]?.body ?? {})).toEqual(["<a.txt>", "<b.txt>"]);
  });

  it("reads the same from a stream that is split at every byte", async () => {
    const bytes = Buffer.from(wire.calling);
    // Each request splits eight distant places; together they split every place.
    const apart = Math.ceil(bytes.length / 8);
    const torn = Array.from({ length: apart }, (_, first) => {
      const cuts = [0, ...Array.from({ length: 8 }, (_, n) => first + 1 + n * apart), bytes.length];
      return { writes: cuts.slice(1).map((cut, n) => bytes.subarray(cuts[n], cut)) };
    });
    const server = await serveWire([{ writes: [wire.calling] }, ...torn]);
    const options = { ...agentOn(wire, server.url), tools };
    const heard = async () => JSON.stringify(comparable(await listen(options, { settings: { maxSteps: 1 } })));
    const whole = await heard();
    const atOnce = 8;
    for (let done = 0; done < torn.length; done += atOnce) {
      for (const text of await Promise.all(Array.from({ length: atOnce }, heard))) expect(text).toBe(whole);
    }
    expect(server.requests.length).toBeGreaterThan(torn.length);
    expect(server.connections()).toBeLessThan(4 * atOnce);
  }, 60_000);

  it("reads the same byte by byte, with CRLF line ends, a byte order mark and keep-alives between", async () => {
    const alive = wire.calling.replaceAll("\n\n", `\n\n${wire.keepAlive}`);
    const server = await serveWire([
      { writes: [wire.calling] },
      { writes: [wire.closing] },
      { writes: [...Buffer.from(wire.calling)].map((byte) => Uint8Array.of(byte)) },
      { writes: [`\uFEFF${wire.closing.replaceAll("\n", "\r\n")}`] },
      { writes: [alive] },
      { writes: [wire.closing] },
    ]);
    const whole = comparable(await converse(wire, server.url));
    expect(comparable(await converse(wire, server.url))).toEqual(whole);
    expect(comparable(await converse(wire, server.url))).toEqual(whole);
  });

  it("keeps 20,000 deltas in order", async () => {
    const deltas = Array.from({ length: 20_000 }, (_, n) => `${n} `);
    const stream = wire.text(deltas);
    const writes = stream.match(/[\s\S]{1,30000}/g) ?? [];
    const server = await serveWire([{ writes }]);
    const events = await takeTurn(agentOn(wire, server.url));
    expect(of(events, "text_delta")).toHaveLength(20_000);
    expect(textOf(events)).toBe(deltas.join(""));
  });

  it("passes on the first words of a long piece before it reads the rest", async () => {
    const server = await serveWire([{ writes: [wire.text(Array.from({ length: 200 }, (_, n) => `${n} `))] }]);
    const { resolveModel } = agentOn(wire, server.url);
    const model = await resolveModel(wire.model);
    const batches: number[] = [];
    const request = { system: "", messages: [{ role: "user" as const, text: "go" }], tools: [] };
    for await (const batch of model.stream({ ...request, signal: new AbortController().signal }))
      batches.push(batch.filter(({ type }) => type === "text").length);
    expect(batches[0]).toBeLessThan(50);
    expect(batches.reduce((sum, count) => sum + count)).toBe(200);
  });

  it.each([
    [
      "429 with Retry-After",
      { status: 429, headers: { "retry-after": "1" }, writes: ['{"error":{"message":"slow down"}}'] },
    ],
    ["a 503", { status: 503, writes: ["<html>no</html>"] }],
    ["a reported overload", { writes: [wire.failing] }],
    ["a line of a server that failed", { writes: ["data: Internal Server Error\n\n"] }],
    ["a connection cut before the first token", { writes: [wire.keepAlive], after: "cut" as const }],
    ["a stream that ends before it began", { writes: [] }],
  ])("asks again after %s", async (_name, reply) => {
    const server = await serveWire([reply, reply, { writes: [wire.closing] }]);
    const events = await takeTurn(agentOn(wire, server.url));
    expect(of(events, "notice")).toHaveLength(2);
    expect(textOf(events)).toBe(said.closing.join(""));
  });

  it.each([
    ["a cut connection", { writes: [wire.opening("Half")], after: "cut" as const }, "connection_lost", 10],
    ["a stream that just ends", { writes: [wire.opening("Half")] }, "connection_lost", 10],
    ["a reported overload", { writes: [wire.opening("Half") + wire.failing] }, "provider_failed", 10],
    ["an event that is not JSON", { writes: [`${wire.opening("Half")}data: {oops\n\n`] }, "provider_failed", 10],
    ["a stall", { writes: [wire.opening("Half")], after: "hang" as const }, "stalled", 3],
  ])("shows no text twice after %s", async (_name, reply, name, tries) => {
    const server = await serveWire([reply]);
    // A short limit only for the silent reply. On a busy machine other replies could look silent.
    const events = await takeTurn(agentOn(wire, server.url, name === "stalled" ? 1000 : 60_000));
    expect(of(events, "text_delta")).toEqual([{ text: "Half" }]);
    expect(of(events, "error")).toMatchObject([{ name }]);
    expect(events.at(-1)?.metadata).toMatchObject({ output: "Half", success: false });
    expect(server.requests).toHaveLength(tries);
  });

  it.each([
    ["refusal", wire.refusing],
    ["max_tokens", wire.tooLong],
  ])("ends with %s when the vendor reports it", async (stop_reason, stream) => {
    if (stream === null) return;
    const server = await serveWire([{ writes: [stream] }]);
    expect(of(await takeTurn(agentOn(wire, server.url)), "turn_end")).toEqual([{ stop_reason }]);
  });

  it("does not wait for a connection that stays open after the last event, and reuses one that closed its reply", async () => {
    const after = wire.endsByEvent ? "hang" : "end";
    const server = await serveWire([{ writes: [wire.closing], after }, { writes: [wire.closing] }]);
    const options = agentOn(wire, server.url, 60_000);
    await takeTurn(options);
    await takeTurn(options);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await takeTurn(options);
    expect(server.connections()).toBe(wire.endsByEvent ? 2 : 1);
  });

  it("is not asked again after it refused the key", async () => {
    const server = await serveWire([
      { status: 401, writes: ['{"error":{"type":"authentication_error","message":"bad key"}}'] },
    ]);
    const events = await takeTurn(agentOn(wire, server.url));
    // The provider, the variable, the model, and what to do.
    const message = expect.stringMatching(
      /^\w+ (refuses the key in [A-Z_]+_API_KEY|wants a key) for \S+: .*, or choose another model \(401 bad key\)$/,
    );
    expect(of(events, "error")).toEqual([{ name: "unauthorized", message, retryable: false }]);
    expect(server.requests).toHaveLength(1);
  });

  it("makes room when the conversation is too long, and says so", async () => {
    const { status, body } = wire.overflow;
    const server = await serveWire([
      { status, writes: [body] },
      { writes: [wire.text(["They said hi."])] },
      { writes: [wire.closing] },
    ]);
    const history = [
      { role: "user", text: "hi" },
      { role: "assistant", parts: [{ type: "text", text: "hello" }] },
    ] as const;
    const events = await takeTurn(agentOn(wire, server.url), { history, number: 1 });
    expect(of(events, "compaction")).toEqual([{ summary: "They said hi.", from_turn: 1 }]);
    expect(textOf(events)).toBe(said.closing.join(""));
  });

  it("causes no error when the turn is cancelled just as the reply has ended", async () => {
    const server = await serveWire([{ writes: [wire.calling] }]);
    const cancel = new AbortController();
    const events = await takeTurn(agentOn(wire, server.url), {
      context: { signal: cancel.signal },
      onEvent: (event) => event.type === "tool_call" && cancel.abort(),
    });
    expect(events.at(-1)?.type).toBe("cancelled");
    // Cutting a connection on its way back to the pool would end the process here.
    await new Promise((resolve) => setTimeout(resolve, 50));
  });

  it("gets nothing that it would always refuse: lone surrogates, blanks, odd names, unknown pictures", async () => {
    const server = await serveWire([{ writes: [wire.closing] }]);
    const picture = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };
    await takeTurn(agentOn(wire, server.url), {
      history: [
        { role: "user", text: "cut \ud83d here, not \\ud83d there" },
        { role: "assistant", parts: [{ type: "call", id: "a", name: "ok", args: { text: "\udfff" } }] },
        { role: "tool", id: "a", name: "ok", output: " \n", success: true },
        { role: "user", text: " \t" },
      ],
      content: [
        picture,
        { ...picture, mimeType: "text/html" },
        { ...picture, data: "not base64" },
        { ...picture, data: "AAAA".repeat(1.3 * 2 ** 20 + 1) },
        { type: "text", text: "\n" },
      ],
    });
    const body = JSON.stringify(server.requests[0]?.body);
    expect(body).toContain("cut \ufffd here, not \\\\ud83d there");
    expect(body).toContain("(empty prompt)");
    expect(body).not.toMatch(/[^\\]\\ud[89a-f]/);
    expect(body).not.toContain("not base64");
    expect(body.match(/a picture that cannot be shown/g)).toHaveLength(3);
    expect(body.match(/iVBORw0KGgo=/g)).toHaveLength(1);
  });

  it("treats an endless reply as an error", async () => {
    const piece = "words ".repeat(10_000);
    const server = await serveWire([{ writes: Array.from({ length: 150 }, () => wire.opening(piece)), after: "hang" }]);
    const events = await takeTurn(agentOn(wire, server.url));
    expect(of(events, "error")).toMatchObject([{ name: "bad_reply", message: "the model's reply has no end" }]);
    expect(server.requests).toHaveLength(1);
  });

  it("closes the connection at once when the turn is cancelled", async () => {
    const server = await serveWire([{ writes: [wire.opening("Half")], after: "hang" }]);
    const cancel = new AbortController();
    const events = await takeTurn(agentOn(wire, server.url), {
      context: { signal: cancel.signal },
      onEvent: (event) => event.type === "text_delta" && cancel.abort(),
    });
    expect(events.at(-1)).toEqual({ type: "cancelled", metadata: { output: "Half" } });
    await expect.poll(server.open).toBe(0);
  });
});

it("gives the same events for the same conversation, whichever vendor serves it", async () => {
  const turns = await Promise.all(
    wires.map(async (wire) => {
      const server = await serveWire([{ writes: [wire.calling] }, { writes: [wire.closing] }]);
      return comparable(await converse(wire, server.url));
    }),
  );
  for (const turn of turns) expect(turn).toEqual(turns[0]);
});
