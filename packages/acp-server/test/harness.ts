/** Runs a server in this process with an agent that a test writes, and clients that keep every frame in both directions. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import { createOracle } from "@chimera/acp-schema/oracle";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore } from "@chimera/event-store";
import { streamChannel } from "@chimera/ndjson-rpc";
import { type Agent, createSessions, createSlashPalette, type Sessions, type SessionsDeps } from "@chimera/session";
import { expect, onTestFinished } from "vitest";
import {
  type AcpServerOptions,
  type Core,
  ferretDialect,
  otterDialect,
  serveAcp,
  standardDialect,
} from "../src/index.js";

export interface Frame {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: Record<string, never> & {
    readonly sessionId: string;
    readonly eventId: number;
    readonly kind: string;
    readonly update: Record<string, unknown> & { sessionUpdate: string };
    readonly _meta: Record<string, unknown>;
  };
  readonly result?: Record<string, never>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> };
}

/** An empty directory, which is removed after the test. */
export function scratch(): string {
  const cwd = mkdtempSync(join(tmpdir(), "acp-server-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  return cwd;
}

export const defaults = { model: "test-model" } as const;

export function makeEngine(
  agent: Agent,
  overrides: Partial<SessionsDeps> = {},
): Core & { readonly sessions: Sessions } {
  const palette = createSlashPalette({ home: "/nonexistent" });
  const sessions = createSessions({
    agent,
    store: createMemoryStore<SessionEvent, Summary>(),
    disk: { readText: async () => "", writeText: async () => {} },
    prefix: "otter",
    defaults,
    commands: palette,
    ...overrides,
  });
  onTestFinished(() => sessions.shutdown());
  return {
    sessions,
    palette,
    models: () => [{ id: "test-model", name: "Test" }],
    agents: async () => ["build", "plan"].map((id) => ({ id, name: id })),
  };
}

/** The compiled official schemas, kept because compiling one takes a second. Native clients have tests of their own. */
const oracles = new Map<boolean, ReturnType<typeof createOracle>>();
function oracleFor(unstable: boolean) {
  const oracle = oracles.get(unstable) ?? createOracle({ unstable, allow: ["session/set_model"] });
  oracles.set(unstable, oracle);
  return oracle;
}

/** An agent that yields the given events as one model step. */
export function yielding(...events: AgentEvent[]): Agent {
  return async function* () {
    yield { type: "step_start", metadata: { step: 0 } };
    yield* events;
    yield { type: "step_end", metadata: { step: 0 } };
  };
}

export const saying = (...texts: string[]): Agent =>
  yielding(...texts.map((text): AgentEvent => ({ type: "text_delta", metadata: { text } })));

export interface Client {
  /** Sends a request and waits for its answer. */
  call(method: string, params?: unknown): Promise<Frame>;
  /** Sends a request without waiting for its answer. */
  start(method: string, params?: unknown): { id: number; answer: Promise<Frame> };
  notify(method: string, params?: unknown): void;
  send(line: string): void;
  /** Every frame received, in order. */
  readonly frames: Frame[];
  updates(kind?: string): (Record<string, unknown> & { sessionUpdate: string })[];
  /** Sets the handler that answers the server's requests. It returns undefined to leave a request unanswered. */
  answer(handler: (frame: Frame) => unknown): void;
  /** Resolves with the first frame that fits, now or later. */
  until(fits: (frame: Frame) => boolean): Promise<Frame>;
  /** The violations of the schema that were found, for a client with `judged`. */
  problems(): string[];
  end(): void;
  /** Closes the connection on the server's side, as when the client's token ends. */
  close(): Promise<void>;
  readonly closed: Promise<unknown>;
}

export function connect(core: Core, options: Partial<AcpServerOptions> & { readonly judged?: boolean } = {}): Client {
  const input = new PassThrough();
  const output = new PassThrough();
  const { judged = false, ...server } = options;
  const conversation = judged ? oracleFor(true).conversation() : null;
  const problems: string[] = [];
  const frames: Frame[] = [];
  const waiting = new Map<unknown, (frame: Frame) => void>();
  const watching = new Set<() => void>();
  let handler: (frame: Frame) => unknown = () => undefined;
  let next = 1;
  const judge = (sender: "agent" | "client", line: string) =>
    problems.push(
      ...(conversation?.next(sender, line) ?? []).map((problem) => `${sender}: ${problem}: ${line.slice(0, 300)}`),
    );
  const send = (line: string) => {
    judge("client", line);
    input.write(`${line}\n`);
  };
  const receive = async (line: string) => {
    judge("agent", line);
    const frame = JSON.parse(line) as Frame;
    frames.push(frame);
    for (const look of watching) look();
    if (frame.method === undefined) return waiting.get(frame.id)?.(frame);
    if (frame.id === undefined) return;
    const answer = await handler(frame);
    if (answer === undefined) return;
    const body = answer instanceof Error ? { error: { code: -32603, message: answer.message } } : { result: answer };
    send(JSON.stringify({ jsonrpc: "2.0", id: frame.id, ...body }));
  };
  let rest = "";
  output.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) void receive(line);
  });
  const running = serveAcp({
    channel: streamChannel(input, output),
    sessions: async () => core,
    program: { name: "otter", title: "Otter", version: "1.2.3" },
    dialects: [standardDialect, otterDialect, ferretDialect],
    native: "otter",
    ...server,
  });
  onTestFinished(() => running.close());
  const start: Client["start"] = (method, params) => {
    const id = next++;
    const answer = new Promise<Frame>((resolve) => waiting.set(id, resolve));
    send(JSON.stringify({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) }));
    return { id, answer };
  };
  return {
    frames,
    send,
    start,
    call: (method, params) => start(method, params).answer,
    notify: (method, params) => send(JSON.stringify({ jsonrpc: "2.0", method, params })),
    updates: (kind) =>
      frames
        .filter((frame) => frame.method === "session/update")
        .map((frame) => frame.params!.update)
        .filter((update) => kind === undefined || update.sessionUpdate === kind),
    answer(handle) {
      handler = handle;
    },
    until: (fits) =>
      new Promise((resolve) => {
        const look = () => {
          const found = frames.find(fits);
          if (!found) return;
          watching.delete(look);
          resolve(found);
        };
        watching.add(look);
        look();
      }),
    problems: () => problems,
    end: () => void input.end(),
    close: () => running.close(),
    closed: running.closed,
  };
}

export const everything = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  session: { configOptions: { boolean: {} }, notices: {}, compaction: {} },
};

/** A client of standard ACP with a session. */
export async function standardClient(
  core: Core,
  clientCapabilities: object = {},
  options: Parameters<typeof connect>[1] = {},
): Promise<Client & { readonly sessionId: string; prompt(text: string): Promise<Frame> }> {
  const client = connect(core, { judged: true, ...options });
  const hello = await client.call("initialize", { protocolVersion: 1, clientCapabilities });
  expect(hello.result).toMatchObject({ protocolVersion: 1 });
  const { result } = await client.call("session/new", { cwd: "/", mcpServers: [] });
  const { sessionId } = result as unknown as { sessionId: string };
  const prompt = (text: string) => client.call("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  return { ...client, sessionId, prompt };
}

/** A client of a native dialect with a session. */
export async function nativeClient(
  core: Core,
  options: { readonly dialect?: "otter" | "ferret"; readonly historyLimit?: number } = {},
): Promise<Client & { readonly sessionId: string; message(text: string): Promise<Frame> }> {
  const { dialect = "otter", historyLimit } = options;
  const client = connect(core, {
    forced: dialect,
    ...(historyLimit !== undefined && { historyLimit }),
  });
  await client.call("initialize", {});
  const { result } = await client.call("session/new", {});
  const { sessionId } = result as unknown as { sessionId: string };
  return { ...client, sessionId, message: (text) => client.call("session/message", { sessionId, message: text }) };
}
