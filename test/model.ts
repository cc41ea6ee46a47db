// A model on loopback in Claude's format, which answers as a test says and keeps what it was asked.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type Part = { readonly text: string } | { readonly call: string; readonly args: object | string };

export interface Reply {
  readonly parts?: readonly Part[];
  /** @defaultValue tool_use after a call, else end_turn */
  readonly stop?: string;
  /** The connection is lost before the reply ends. */
  readonly cut?: boolean;
  /** Refused, in these words. */
  readonly refusal?: { readonly status: number; readonly message: string };
}

// biome-ignore lint/suspicious/noExplicitAny: a request is whatever arrived; each test says what it expects of it.
type Request = any;

export interface Model {
  /** For the program: where it finds the model. */
  readonly env: Record<string, string>;
  readonly requests: Request[];
}

/** `answer` is given the request and how many came before it. */
export async function startModel(answer: (request: Request, n: number) => Reply): Promise<Model> {
  const requests: Request[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const request = JSON.parse(Buffer.concat(chunks).toString());
    const { parts = [], stop, cut = false, refusal } = answer(request, requests.push(request) - 1);
    if (refusal) {
      const { status, message } = refusal;
      outgoing.writeHead(status, { "content-type": "application/json" });
      outgoing.end(JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } }));
      return;
    }
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    const input_tokens = Math.ceil(JSON.stringify(request.messages).length / 4);
    outgoing.write(event({ type: "message_start", message: { usage: { input_tokens, output_tokens: 1 } } }));
    for (const [index, part] of parts.entries()) outgoing.write(blockOf(part, index));
    if (cut) {
      setTimeout(() => outgoing.destroy(), 20);
      return;
    }
    const stop_reason = stop ?? (parts.some((part) => "call" in part) ? "tool_use" : "end_turn");
    outgoing.write(event({ type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 20 } }));
    outgoing.end(event({ type: "message_stop" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { env: { ANTHROPIC_API_KEY: "key", ANTHROPIC_BASE_URL: url }, requests };
}

function event(value: { type: string } & Record<string, unknown>): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
}

function blockOf(part: Part, index: number): string {
  const [content_block, delta] =
    "text" in part
      ? [
          { type: "text", text: "" },
          { type: "text_delta", text: part.text },
        ]
      : [
          { type: "tool_use", id: `toolu_${Math.random().toString(36).slice(2)}`, name: part.call, input: {} },
          {
            type: "input_json_delta",
            partial_json: typeof part.args === "string" ? part.args : JSON.stringify(part.args),
          },
        ];
  return (
    event({ type: "content_block_start", index, content_block }) +
    event({ type: "content_block_delta", index, delta }) +
    event({ type: "content_block_stop", index })
  );
}
