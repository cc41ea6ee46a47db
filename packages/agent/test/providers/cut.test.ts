/**
 * A reply that breaks off at any byte: the turn ends in success or with a typed error, no text is shown twice, and no call of an
 * interrupted reply runs. CHIMERA_CUTS=all tries every byte of every wire, which takes about a minute.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen, of, textOf, toolNamed } from "../take-turn.js";
import { agentOn, said, type WireFormat, wires } from "./wires.js";

const SAMPLE = 200;
const all = process.env["CHIMERA_CUTS"] === "all";
const AT_ONCE = 8;

/** The event with the vendor's stop reason. */
const LAST_WORDS: Readonly<Record<string, string>> = {
  anthropic: "event: message_delta",
  "chat completions":
    'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"',
  responses: "event: response.completed",
  gemini: 'data: {"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP"',
  ollama: '{"model":"m","message":{"role":"assistant","content":""},"done":true',
};

/** Answers the first request of each cut with the beginning of a reply, and every other request with a complete reply. */
async function serveCuts(wire: WireFormat): Promise<string> {
  const bytes = Buffer.from(wire.calling);
  const tried = new Set<string>();
  const server = createServer(async (incoming, outgoing) => {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    if (incoming.url === "/api/show") return void outgoing.end("{}");
    const [cut = "", at, how] = /cut (\d+) (end|reset)/.exec(body) ?? [];
    const first = !tried.has(cut);
    tried.add(cut);
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    if (!first) return void outgoing.end(wire.closing);
    outgoing.write(bytes.subarray(0, Number(at)));
    if (how === "end") outgoing.end();
    // The written bytes leave before the connection is cut.
    else setImmediate(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Every byte, or a sample that includes the bytes around the stop reason. */
function positions(wire: WireFormat): number[] {
  const { length } = Buffer.from(wire.calling);
  if (all) return Array.from({ length: length + 1 }, (_, at) => at);
  const { start, end } = lastWord(wire);
  const stride = length / SAMPLE;
  const offset = Math.random() * stride;
  const spread = Array.from({ length: SAMPLE }, (_, n) => Math.floor(offset + n * stride));
  return [...new Set([0, 1, start - 1, start, start + 1, end - 2, end - 1, end, length, ...spread])];
}

function lastWord(wire: WireFormat): { start: number; end: number } {
  const start = wire.calling.lastIndexOf(LAST_WORDS[wire.name] as string);
  const rest = wire.calling.slice(start);
  const end = start + rest.indexOf(wire.name === "ollama" ? "\n" : "\n\n") + (wire.name === "ollama" ? 1 : 2);
  expect(start).toBeGreaterThan(0);
  return {
    start: Buffer.byteLength(wire.calling.slice(0, start)),
    end: Buffer.byteLength(wire.calling.slice(0, end)),
  };
}

describe.each(wires)("$name", (wire) => {
  it("survives a cut at any byte", async () => {
    const url = await serveCuts(wire);
    const { start, end } = lastWord(wire);
    const tryCut = async (at: number, how: "end" | "reset"): Promise<void> => {
      let runs = 0;
      const look = toolNamed("look", async () => {
        runs++;
        return { success: true, output: "seen" };
      });
      const events = await listen({ ...agentOn(wire, url), tools: [look] }, { prompt: `cut ${at} ${how}` });
      const where = `${how} at ${at}`;
      const [result] = of(events, "agent_result");
      const errors = of(events, "error");
      expect(result?.success, where).toBe(errors.length === 0);
      for (const { name } of errors) expect(["connection_lost", "bad_reply"], where).toContain(name);
      const text = textOf(events);
      for (const piece of [...said.texts, ...said.closing])
        expect(text.split(piece).length, where).toBeLessThanOrEqual(2);
      // A reset connection may lose bytes that were sent before.
      const whole = how === "end" && at >= end;
      if (whole) expect(runs, where).toBe(2);
      else expect(at < start ? [0] : [0, 2], where).toContain(runs);
      if (result?.success) expect(text.endsWith(said.closing.join("")), where).toBe(true);
    };
    const tries = positions(wire).flatMap((at) => [() => tryCut(at, "end"), () => tryCut(at, "reset")]);
    for (let done = 0; done < tries.length; done += AT_ONCE)
      await Promise.all(tries.slice(done, done + AT_ONCE).map((run) => run()));
  }, 600_000);
});
