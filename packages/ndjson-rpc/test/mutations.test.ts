import { expect, it } from "vitest";
import { startServer } from "./server-process.js";

const MUTATIONS = 10_000;

it("a connection survives 10,000 seeded mutations of a conversation and answers each line that needs an answer once", async () => {
  const random = seeded(20261116);
  const lines = Array.from({ length: MUTATIONS }, (_, id) => mutate(conversationLine(id, random), random));
  const stream = Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]));
  const wanted = splitOnLf(stream).flatMap(answerOf).sort();

  const server = startServer();
  for (let start = 0; start < stream.length; ) {
    const end = start + 1 + Math.floor(random() * 9000);
    server.child.stdin.write(stream.subarray(start, end));
    start = end;
  }
  server.child.stdin.write('\n{"jsonrpc":"2.0","id":"end","method":"late"}\n');
  await server.seen('"id":"end"');
  expect(await server.finish()).toBe(0);
  const answered = server.lines().map((line) => JSON.stringify(JSON.parse(line).id));
  expect(answered.filter((id) => id !== '"end"').sort()).toEqual(wanted);
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function conversationLine(id: number, random: () => number): string {
  const templates = [
    `{"jsonrpc":"2.0","id":${id},"method":"echo","params":{"text":"grüße ${id}","list":[1,{"a":null}]}}`,
    `{"jsonrpc":"2.0","id":"s${id}","method":"late","params":{"cwd":"/w","mcpServers":[]}}`,
    `{"jsonrpc":"2.0","id":${id},"method":"boom","params":[]}`,
    `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}`,
    `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":${id - 1}}}`,
    `{"jsonrpc":"2.0","id":${id},"result":{"outcome":"selected"}}`,
    `{"jsonrpc":"2.0","id":${id},"error":{"code":-32603,"message":"no"}}`,
  ];
  return templates[Math.floor(random() * templates.length)] ?? "";
}

function mutate(line: string, random: () => number): Buffer {
  let bytes = Buffer.from(line);
  const structural = Buffer.from('{}[]",:\\0e-. \t\r\n\u0000');
  for (let rounds = 1 + Math.floor(random() * 3); rounds > 0; rounds--) {
    const at = Math.floor(random() * bytes.length);
    const length = 1 + Math.floor(random() * 8);
    const piece = bytes.subarray(at, at + length);
    const inserted = [
      Buffer.of(Math.floor(random() * 256)),
      Buffer.of(structural[Math.floor(random() * structural.length)] ?? 0),
      Buffer.concat([piece, piece]),
      Buffer.alloc(0),
    ][Math.floor(random() * 4)] as Buffer;
    const removed = random() < 0.5 ? length : 0;
    bytes = Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + removed)]);
  }
  return random() < 0.1 ? bytes.subarray(0, Math.floor(random() * bytes.length)) : bytes;
}

function splitOnLf(stream: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = stream.indexOf(10); end !== -1; end = stream.indexOf(10, start)) {
    lines.push(stream.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

/** An independent implementation of the rules: the id that the answer to a line must have, or undefined for no answer. */
function answerOf(line: Buffer): string[] {
  let message: Record<string, unknown>;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
    if (/^[ \t\r]*$/.test(text)) return [];
    message = JSON.parse(text);
  } catch {
    return ["null"];
  }
  if (typeof message !== "object" || message === null || Array.isArray(message)) return ["null"];
  const { jsonrpc, id, method, result, error } = message;
  const isReply = result !== undefined || error !== undefined;
  const usable = id === undefined || id === null || typeof id === "string" || typeof id === "number";
  if (!usable) return ["null"];
  if (jsonrpc !== "2.0") return [isReply ? "null" : JSON.stringify(id ?? null)];
  if (method === undefined && isReply && id !== undefined) return [];
  if (typeof method === "string" && !isReply && id === undefined) return [];
  return [JSON.stringify(id ?? null)];
}
