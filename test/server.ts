// A built program that serves HTTP, and a client that shows statuses, bodies and frames as they are.
import { createServer } from "node:net";
import { serverEvents } from "@chimera/client";
import { addressOf, type Program, type Surroundings, startProgram } from "./program.js";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a body is whatever arrived; each test says what it expects of it.
  readonly body: any;
}

export interface SseFrame {
  readonly id?: number;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly data: any;
}

export interface Ask {
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

export interface Server {
  readonly program: Program;
  readonly address: string;
  /** `ask("GET /health")`; a body is sent as JSON. */
  ask(route: string, ask?: Ask): Promise<Answer>;
  /** The same for a prompt of a new session that runs to its end. */
  run(prompt: string, options?: object): Promise<{ readonly id: string; readonly frames: SseFrame[] }>;
  /** A stream, frame by frame, until it ends or the reader leaves. */
  frames(path: string, ask?: Ask): AsyncGenerator<SseFrame, void>;
  /** Every frame up to the end of the stream. */
  all(path: string, ask?: Ask): Promise<SseFrame[]>;
}

/** Starts a server on a port of its own; `--model` and the like may follow. */
export async function startServer(
  args: string[] = [],
  env: Record<string, string> = {},
  surroundings: Surroundings & { readonly name?: "otter" | "ferret"; readonly token?: string } = {},
): Promise<Server> {
  const { name = "otter", token: usual } = surroundings;
  const http = name === "otter" ? [] : ["--http"];
  const program = startProgram(name, ["serve", ...http, "--port", "0", ...args], env, surroundings);
  const address = await addressOf(program);

  const send = (route: string, { token = usual, headers = {}, body }: Ask = {}, signal?: AbortSignal) => {
    const [method = "GET", path = "/"] = route.split(" ");
    return fetch(`${address}${path}`, {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  };
  const ask = async (route: string, options?: Ask): Promise<Answer> => {
    const response = await send(route, options);
    const text = await response.text();
    const json = response.headers.get("content-type")?.includes("json") ?? false;
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
  };
  const frames = async function* (path: string, options?: Ask) {
    const gone = new AbortController();
    const response = await send(`GET ${path}`, options, gone.signal);
    if (response.status !== 200 || !response.body) throw new Error(`${path} answered ${response.status}`);
    try {
      yield* framesOf(response, gone.signal);
    } finally {
      gone.abort();
    }
  };
  const all = async (path: string, options?: Ask) => {
    const seen: SseFrame[] = [];
    for await (const frame of frames(path, options)) seen.push(frame);
    return seen;
  };
  const run = async (prompt: string, options: object = {}) => {
    const { body } = await ask("POST /sessions", { body: { prompt, ...options } });
    return { id: body.session_id as string, frames: await all(`/sessions/${body.session_id}/events`) };
  };
  return { program, address, ask, run, frames, all };
}

/** Reads frames until one fits, and gives all that came. */
export async function until(frames: AsyncIterable<SseFrame>, fits: (frame: SseFrame) => boolean): Promise<SseFrame[]> {
  const seen: SseFrame[] = [];
  for await (const frame of frames) {
    seen.push(frame);
    if (fits(frame)) return seen;
  }
  throw new Error(`the stream ended after ${seen.map((frame) => frame.event).join(", ") || "nothing"}`);
}

/** The named events of a stream, each as it is: what the client passes over, and records that it has already, too. */
export async function* framesOf(response: Response, signal = new AbortController().signal): AsyncGenerator<SseFrame> {
  for await (const events of serverEvents(response, signal))
    for (const { id, event, data } of events)
      if (event !== "") yield { ...(id !== undefined && { id: Number(id) }), event, data: JSON.parse(data) };
}

/** A port of 127.0.0.1 that nothing listened on a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
