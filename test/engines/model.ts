// A model on loopback that speaks the wires of the agents' vendors and does what the last order of the conversation says.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AtEnd } from "../program.js";

/** What an agent calls its tools, and how it takes their input. */
export interface ToolNames {
  write(path: string, content: string): Call;
  shell(command: string): Call;
}

export interface Call {
  readonly name: string;
  readonly args: object;
}

export interface Model {
  readonly url: string;
}

/** The orders of a prompt: `[[write a.txt words]]`, `[[shell ls]]`, `[[talk 500]]`, `[[say words]]`, `[[recall words]]`. */
export const order = (what: string): string => `Do this: [[${what}]]`;

export async function startModel(tools: ToolNames, cwd: string, atEnd: AtEnd): Promise<Model> {
  /** The orders that were called already: some agents remind the model of the order after its tool has answered. */
  const called = new Set<string>();
  const server = createServer(async (incoming, outgoing) => {
    const body = await jsonOf(incoming);
    const path = new URL(incoming.url ?? "/", "http://model").pathname;
    const wire = Object.entries(WIRES).find(([end]) => path.endsWith(end) || path.includes(`${end}?`))?.[1];
    const answer = (value: object, status = 200) => {
      outgoing.writeHead(status, { "content-type": "application/json" });
      outgoing.end(JSON.stringify(value));
    };
    if (!wire) {
      if (/count_?tokens/i.test(path)) return answer({ input_tokens: 10, totalTokens: 10 });
      if (path.includes("/models"))
        return answer({ object: "list", data: [{ id: "mock", object: "model" }], models: [] });
      return answer({ error: { message: "no such path" } }, 404);
    }
    const said = JSON.stringify(body.messages ?? body.input ?? body.contents ?? "");
    const hasTools = Array.isArray(body.tools) && body.tools.length > 0;
    const reply = hasTools ? replyTo(said, tools, cwd, called) : { words: ["ok"], paceMs: 0 };
    const isStreamed = body.stream === true || path.includes("stream");
    if (!isStreamed) return answer(wire.whole("ok"));
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    await speak(outgoing, wire, reply);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

// --- internal ---

// biome-ignore lint/suspicious/noExplicitAny: a request is whatever arrived.
type Body = any;

interface Reply {
  readonly words: readonly string[];
  readonly paceMs: number;
  readonly call?: Call;
}

interface Wire {
  readonly start: string;
  word(text: string): string;
  end(text: string, call: Call | undefined): string;
  whole(text: string): object;
}

function replyTo(said: string, tools: ToolNames, cwd: string, called: Set<string>): Reply {
  const last = [...said.matchAll(/\[\[(\w+) ?((?:(?!\]\]).)*)\]\]/g)].at(-1);
  const at = (words: string[], paceMs = 0): Reply => ({ words, paceMs });
  if (!last) return at(["Nothing to do."]);
  const [whole, verb, rest = ""] = last;
  if (called.has(whole)) return at(["Done ", verb ?? "", "."]);
  if (verb === "write" || verb === "shell") called.add(whole);
  if (verb === "write") {
    const [path = "", ...words] = rest.split(" ");
    return { ...at(["Writing. "]), call: tools.write(`${cwd}/${path}`, words.join(" ")) };
  }
  if (verb === "shell") return { ...at(["Running. "]), call: tools.shell(rest) };
  if (verb === "talk")
    return at(
      Array.from({ length: Number(rest) }, (_one, index) => `word${index} `),
      50,
    );
  if (verb === "recall") return at([said.slice(0, last.index).includes(rest) ? "I remember." : "I do not remember."]);
  return at([rest]);
}

async function speak(outgoing: ServerResponse, wire: Wire, { words, paceMs, call }: Reply): Promise<void> {
  outgoing.write(wire.start);
  for (const word of words) {
    if (outgoing.destroyed) return;
    outgoing.write(wire.word(word));
    if (paceMs > 0) await new Promise((resolve) => setTimeout(resolve, paceMs));
  }
  outgoing.end(wire.end(words.join(""), call));
}

async function jsonOf(incoming: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return {};
  }
}

const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const event = (value: { type: string } & Record<string, unknown>) => `event: ${value.type}\n${data(value)}`;
let calls = 0;

const chunk = (delta: object, finish_reason: string | null = null) =>
  data({
    id: "c1",
    object: "chat.completion.chunk",
    created: 1,
    model: "mock",
    choices: [{ index: 0, delta, finish_reason }],
  });

const CHAT: Wire = {
  start: chunk({ role: "assistant", content: "" }),
  word: (content) => chunk({ content }),
  end: (_text, call) => {
    const called = call && {
      tool_calls: [
        {
          index: 0,
          id: `call_${calls++}`,
          type: "function",
          function: { name: call.name, arguments: JSON.stringify(call.args) },
        },
      ],
    };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    return `${called ? chunk(called) : ""}${chunk({}, call ? "tool_calls" : "stop")}${data({ id: "c1", object: "chat.completion.chunk", created: 1, model: "mock", choices: [], usage })}data: [DONE]\n\n`;
  },
  whole: (content) => ({
    id: "c1",
    object: "chat.completion",
    created: 1,
    model: "mock",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }),
};

const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "mock",
  content: [],
  stop_reason: null,
  stop_sequence: null,
};
const CLAUDE: Wire = {
  start:
    event({
      type: "message_start",
      message: {
        ...message,
        usage: { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      },
    }) + event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
  word: (text) => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
  end: (_text, call) => {
    const input = { type: "input_json_delta", partial_json: JSON.stringify(call?.args) };
    const block = { type: "tool_use", id: `toolu_${calls++}`, name: call?.name, input: {} };
    return [
      event({ type: "content_block_stop", index: 0 }),
      ...(call
        ? [
            event({ type: "content_block_start", index: 1, content_block: block }),
            event({ type: "content_block_delta", index: 1, delta: input }),
            event({ type: "content_block_stop", index: 1 }),
          ]
        : []),
      event({
        type: "message_delta",
        delta: { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null },
        usage: { output_tokens: 5 },
      }),
      event({ type: "message_stop" }),
    ].join("");
  },
  whole: (text) => ({
    ...message,
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    usage: { input_tokens: 10, output_tokens: 5 },
  }),
};

const response = { id: "resp_1", object: "response", created_at: 1, model: "mock", output: [] };
const item = (text: string, status: string) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status,
  content: text === "" ? [] : [{ type: "output_text", text, annotations: [] }],
});
const tokens = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
};
const RESPONSES: Wire = {
  start:
    event({ type: "response.created", response: { ...response, status: "in_progress" } }) +
    event({ type: "response.output_item.added", output_index: 0, item: item("", "in_progress") }) +
    event({
      type: "response.content_part.added",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [] },
    }),
  word: (delta) =>
    event({ type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta }),
  end: (text, call) => {
    const id = `call_${calls++}`;
    const called = {
      type: "function_call",
      id: `fc_${id}`,
      call_id: id,
      name: call?.name,
      arguments: JSON.stringify(call?.args),
      status: "completed",
    };
    return [
      event({ type: "response.output_item.done", output_index: 0, item: item(text, "completed") }),
      ...(call ? [event({ type: "response.output_item.done", output_index: 1, item: called })] : []),
      event({ type: "response.completed", response: { ...response, status: "completed", usage: tokens } }),
    ].join("");
  },
  whole: (text) => ({ ...response, status: "completed", output: [item(text, "completed")], usage: tokens }),
};

const candidate = (parts: object[], more: object = {}) => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  modelVersion: "mock",
});
const GEMINI: Wire = {
  start: "",
  word: (text) => data(candidate([{ text }])),
  end: (_text, call) =>
    (call ? data(candidate([{ functionCall: { name: call.name, args: call.args } }])) : "") +
    data(candidate([{ text: "" }], { finishReason: "STOP" })),
  whole: (text) => candidate([{ text }], { finishReason: "STOP" }),
};

/** End of a request's path -> its wire. */
const WIRES: Readonly<Record<string, Wire>> = {
  "/chat/completions": CHAT,
  "/messages": CLAUDE,
  "/responses": RESPONSES,
  ":streamGenerateContent": GEMINI,
  ":generateContent": GEMINI,
};
