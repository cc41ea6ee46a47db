/** A model on loopback that works like a real one: it reads each request, refuses a long one, and answers in Claude's format. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { type AgentOptions, anthropicFirst } from "../../src/index.js";
import { createModels } from "../../src/providers/index.js";
import { claude, type ReplyPart } from "./replies.js";

export interface Asked {
  readonly system: unknown;
  readonly tools: readonly { readonly name: string }[];
  readonly messages: readonly { readonly role: string; readonly content: readonly Record<string, unknown>[] }[];
  readonly max_tokens: number;
}

export interface ModelServer {
  readonly requests: {
    readonly asked: Asked;
    readonly tokens: number;
    readonly refused: boolean;
    readonly summary: boolean;
  }[];
  readonly options: AgentOptions;
}

/** All text of a request. */
export function textIn({ messages }: Asked): string {
  return JSON.stringify(messages);
}

/**
 * `answer` gives the reply to the nth request that is not for a summary. A summary repeats every fact (`FACT-` and a word) in its request,
 * so that facts which were not sent are lost. Four characters count as a token, and a request may have at most `window` tokens.
 */
export async function serveModel(
  answer: (asked: Asked, n: number) => readonly ReplyPart[],
  window = 200_000,
  refusal = (tokens: number) => `prompt is too long: ${tokens} tokens > ${window} maximum`,
): Promise<ModelServer> {
  const requests: ModelServer["requests"] = [];
  let answered = 0;
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as Asked;
    const tokens = Math.ceil(textIn(asked).length / 4);
    const said = textIn(asked);
    const summary = said.includes("sum up this conversation");
    const refused = tokens > window;
    requests.push({ asked, tokens, refused, summary });
    if (refused) {
      const { status = 400, writes = [] } = claude.refuse(400, refusal(tokens));
      outgoing.writeHead(status, { "content-type": "application/json" }).end(writes.join(""));
      return;
    }
    const facts = [...new Set(said.match(/FACT-\w+/g) ?? [])];
    const parts = summary ? [{ text: `## Facts\n${facts.join("\n")}` }] : answer(asked, answered++);
    const calls = parts.some((part) => "call" in part);
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.end(claude.reply(parts, calls ? "calls" : "end", { input: tokens, output: 100 }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const models = createModels({ env: { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url }, chain: anthropicFirst });
  return {
    requests,
    // Of the Claudes, one whose window is 200,000 tokens.
    options: { resolveModel: () => models("claude-haiku-4-5"), clock: { now: () => 0, sleep: async () => {} } },
  };
}
