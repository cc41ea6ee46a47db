/**
 * Vendors on loopback, as strict as the real ones. Each gets the replies of its model, sends them in its own format from a real HTTP
 * server, remembers them, and refuses with its own messages what the real service refuses. Every refusal names its source.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** A model's reply, independent of the vendor's format. */
export type Said =
  | { readonly reasoning: string }
  /** Encrypted reasoning that only the vendor can read. */
  | { readonly hidden: true }
  | { readonly text: string }
  /** `args` as a string is sent unchanged, if the format allows that. */
  | { readonly call: string; readonly args: Record<string, unknown> | string };

export interface ModelReply {
  readonly says: readonly Said[];
  /** @defaultValue end */
  readonly stop?: "end" | "max_tokens" | "refusal" | "pause_turn";
}

// biome-ignore lint/suspicious/noExplicitAny: a request is whatever arrived; the vendor says what is wrong with it.
export type Loose = any;

export interface VendorRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Loose;
}

export type VendorAnswer =
  | { readonly status: number; readonly body: object; readonly headers?: Record<string, string> }
  /** The writes of a stream. */
  | { readonly stream: readonly string[]; readonly type?: string };

export interface Vendor {
  readonly name: string;
  /** The model's name as a person types it. */
  readonly model: string;
  /** Keys and addresses that lead to this vendor. */
  env(url: string): Record<string, string>;
  /** The vendor's list of models. @defaultValue none */
  models?(): unknown;
  /** Replies in the form in which they must come back, in order. */
  readonly sent: Loose[];
  /** The replies in a request, in the same form. */
  repliesIn(body: Loose): Loose[];
  /** Answers a request. `next` takes the model's next reply, and is called only if the request is accepted. */
  answer(request: VendorRequest, next: () => ModelReply): VendorAnswer;
}

export interface RunningVendor {
  readonly url: string;
  /** The requests that were answered with a stream. */
  readonly answered: VendorRequest[];
  /** The vendor's messages for refused requests. */
  readonly refused: string[];
  /** Replies that were not requested yet. */
  readonly left: () => number;
  close(): void;
}

/** Thrown by a vendor that refuses. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly body: object,
    message: string,
  ) {
    super(message);
  }
}

/** Starts a vendor whose model gives these replies, one per accepted request. */
export async function startVendor(vendor: Vendor, replies: readonly ModelReply[]): Promise<RunningVendor> {
  const waiting = [...replies];
  const answered: VendorRequest[] = [];
  const refused: string[] = [];
  const sockets = new Set<Socket>();
  const next = (): ModelReply => {
    const reply = waiting.shift();
    if (!reply) throw new Refusal(500, { error: { message: "the script is over" } }, "the script is over");
    return reply;
  };
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = "", url: path = "", headers } = incoming;
    const request = { method, path, headers, body: JSON.parse(Buffer.concat(chunks).toString() || "null") };
    if (method === "GET") {
      const models = vendor.models?.();
      outgoing.writeHead(models ? 200 : 404, { "content-type": "application/json" });
      outgoing.end(JSON.stringify(models ?? {}));
      return;
    }
    const answer = tryAnswer(vendor, request, next);
    if ("stream" in answer) {
      answered.push(request);
      outgoing.writeHead(200, { "content-type": answer.type ?? "text/event-stream" });
      for (const bytes of answer.stream) outgoing.write(bytes);
      outgoing.end();
      return;
    }
    if (answer.status >= 400) refused.push(answer.said);
    outgoing.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
    outgoing.end(JSON.stringify(answer.body));
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answered,
    refused,
    left: () => waiting.length,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** One server-sent event. */
export function sse(data: object, event?: string): string {
  return `${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
}

/** Cuts a text into the pieces in which models stream it, without splitting a character. */
export function piecesOf(text: string, size = 7): string[] {
  const characters = [...text];
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; at += size) pieces.push(characters.slice(at, at + size).join(""));
  return pieces;
}

/** The JSON text of a call's arguments. */
export function argsText(args: Record<string, unknown> | string): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

/** A value that only the vendor can make: a signature, encrypted content. */
export function sealOf(...of: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(of)).digest("base64");
}

/** Unique ids. */
export function createIds(): (prefix: string) => string {
  let count = 0;
  return (prefix) =>
    `${prefix}${String(count++).padStart(4, "0")}${sealOf(prefix, count).replace(/\W/g, "").slice(0, 16)}`;
}

/** Refuses field names that the vendor does not know. */
export function unknownKey(value: object, known: readonly string[]): string | undefined {
  return Object.keys(value).find((key) => !known.includes(key));
}

// --- internal ---

type Answered =
  | Extract<VendorAnswer, { stream: unknown }>
  | (Extract<VendorAnswer, { status: number }> & { said: string });

function tryAnswer(vendor: Vendor, request: VendorRequest, next: () => ModelReply): Answered {
  try {
    const answer = vendor.answer(request, next);
    return "stream" in answer ? answer : { ...answer, said: "" };
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, body: error.body, said: error.message };
    const said = `the mock failed: ${(error as Error).stack}`;
    return { status: 500, body: { error: { message: said } }, said };
  }
}
