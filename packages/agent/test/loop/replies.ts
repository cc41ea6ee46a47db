/** Replies in two vendors' formats, made from parts, on a real server that keeps its requests. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { AgentOptions } from "../../src/index.js";
import { serveWire, type WireReply, type WireServer } from "../providers/wire-server.js";
import { agentOn, anthropic, chat, type WireFormat } from "../providers/wires.js";

export type ReplyPart =
  | { readonly text: string }
  | { readonly thought: string }
  | { readonly call: string; readonly args: string; readonly id?: string };

export interface Vendor {
  readonly wire: WireFormat;
  /** A reply without its end. */
  begin(...parts: ReplyPart[]): string;
  /** A complete reply. */
  reply(parts: readonly ReplyPart[], stop?: Stop, usage?: { input: number; output: number }): string;
  refuse(status: number, message: string): WireReply;
}

export type Stop = "end" | "calls" | "limit" | string;

const json = JSON.stringify;

const event = (value: { type: string } & Record<string, unknown>): string =>
  `event: ${value.type}\ndata: ${json(value)}\n\n`;

function block(index: number, part: ReplyPart): string {
  const [content_block, delta] =
    "text" in part
      ? [
          { type: "text", text: "" },
          { type: "text_delta", text: part.text },
        ]
      : "thought" in part
        ? [
            { type: "thinking", thinking: "", signature: "" },
            { type: "thinking_delta", thinking: part.thought },
          ]
        : [
            { type: "tool_use", id: part.id ?? `toolu_${index}`, name: part.call, input: {} },
            { type: "input_json_delta", partial_json: part.args },
          ];
  return (
    event({ type: "content_block_start", index, content_block }) + event({ type: "content_block_delta", index, delta })
  );
}

const ANTHROPIC_STOPS: Readonly<Record<string, string>> = { end: "end_turn", calls: "tool_use", limit: "max_tokens" };

export const claude: Vendor = {
  wire: anthropic,
  begin: (...parts) =>
    event({ type: "message_start", message: { usage: { input_tokens: 10, output_tokens: 1 } } }) +
    parts
      .map(
        (part, at) => block(at, part) + (at < parts.length - 1 ? event({ type: "content_block_stop", index: at }) : ""),
      )
      .join(""),
  reply: (parts, stop = "end", usage = { input: 10, output: 5 }) =>
    event({ type: "message_start", message: { usage: { input_tokens: usage.input, output_tokens: 1 } } }) +
    parts.map((part, index) => block(index, part) + event({ type: "content_block_stop", index })).join("") +
    event({
      type: "message_delta",
      delta: { stop_reason: ANTHROPIC_STOPS[stop] ?? stop },
      usage: { output_tokens: usage.output },
    }) +
    event({ type: "message_stop" }),
  refuse: (status, message) => ({
    status,
    writes: [json({ type: "error", error: { type: "invalid_request_error", message } })],
  }),
};

const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${json({ id: "c", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

const CHAT_STOPS: Readonly<Record<string, string>> = { end: "stop", calls: "tool_calls", limit: "length" };

const deltas = (parts: readonly ReplyPart[]): string =>
  parts
    .map((part, index) =>
      "text" in part
        ? chunk({ content: part.text })
        : "thought" in part
          ? chunk({ reasoning_content: part.thought })
          : chunk({
              tool_calls: [
                { index, id: part.id ?? `call_${index}`, function: { name: part.call, arguments: part.args } },
              ],
            }),
    )
    .join("");

export const gpt: Vendor = {
  wire: chat,
  begin: (...parts) => chunk({ role: "assistant", content: "" }) + deltas(parts),
  reply: (parts, stop = "end", { input, output } = { input: 10, output: 5 }) =>
    `${chunk({ role: "assistant", content: "" })}${deltas(parts)}${chunk({}, CHAT_STOPS[stop] ?? stop)}data: ${json({
      choices: [],
      usage: { prompt_tokens: input, completion_tokens: output },
    })}\n\ndata: [DONE]\n\n`,
  refuse: (status, message) => ({
    status,
    writes: [json({ error: { message, type: "invalid_request_error", code: null } })],
  }),
};

export const vendors = [
  ["claude", claude],
  ["chat", gpt],
] as const;

/** An agent with that vendor. It records the waits between retries and skips them. */
export async function serving(
  vendor: Vendor,
  replies: readonly (string | WireReply)[],
): Promise<{ server: WireServer; options: AgentOptions; waits: number[]; sent: (request: number) => string }> {
  const server = await serveWire(replies.map((reply) => (typeof reply === "string" ? { writes: [reply] } : reply)));
  const waits: number[] = [];
  const sleep = async (ms: number) => void waits.push(ms);
  return {
    server,
    waits,
    options: { ...agentOn(vendor.wire, server.url, 60_000), clock: { now: () => 0, sleep }, random: () => 1 },
    sent: (request) => json(server.requests[request]?.body["messages"]),
  };
}

/** Answers any request with these pieces, a twentieth of a second apart. Returns its address. */
export async function serveSlowly(pieces: readonly string[]): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    incoming.resume();
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    for (const piece of pieces) {
      outgoing.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    outgoing.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
