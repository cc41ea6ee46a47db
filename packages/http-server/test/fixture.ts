/** A server on a real port over a real file store, with an agent that does what the prompt says. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentEvent, PermissionChoice, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore, createMemoryStore, type EventStore } from "@chimera/event-store";
import {
  type Agent,
  createSessions,
  createSlashPalette,
  type Quotas,
  type SessionFiles,
  type Sessions,
  type SessionsDeps,
} from "@chimera/session";
import { createSnapshotStore, type SnapshotStore } from "@chimera/snapshot-store";
import { onTestFinished, vi } from "vitest";
import { type App, type AppDeps, createApp } from "../src/index.js";
import { listen } from "../src/node.js";
import { expectListed } from "./shape.js";

export const MASTER = "master-secret";

export interface Served {
  readonly app: App;
  readonly sessions: Sessions;
  readonly store: EventStore<SessionEvent, Summary>;
  readonly port: number;
  readonly url: string;
  /** The workspace sessions run in. */
  readonly cwd: string;
  readonly logged: string[];
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** How many sockets the server holds. */
  connections(): Promise<number>;
  stop(): Promise<void>;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  /** The store fails as none does there, so that the route lists no such code. */
  readonly isUnlisted?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely.
  readonly body: any;
}

export async function serve(
  options: Partial<AppDeps> & {
    root?: string;
    ttl?: number | null;
    hold?: number;
    monotonic?: () => number;
    clock?: () => number;
    quotas?: Quotas;
    elsewhere?: SessionsDeps["elsewhere"];
    files?: SessionFiles;
    /** Options that sessions start with. */
    startOptions?: Record<string, string | boolean>;
    /** Another store, or other snapshots, in the place of those that work. */
    broken?: (whole: { store: Served["store"]; snapshots: SnapshotStore }) => Pick<SessionsDeps, "store" | "snapshots">;
  } = {},
): Promise<Served> {
  const {
    root = scratch(),
    ttl = null,
    hold = 0,
    monotonic,
    clock,
    files,
    elsewhere,
    quotas = {},
    broken,
    startOptions,
    ...deps
  } = options;
  const cwd = deps.defaultCwd ?? scratch();
  const logged: string[] = [];
  const store = createFileStore<SessionEvent, Summary>({ root, durability: "none", ...(clock && { clock }) });
  const snapshots = createSnapshotStore({ root: join(root, "snapshots") });
  const ephemeral = createMemoryStore<SessionEvent, Summary>();
  const palette = createSlashPalette({ home: root });
  const sessions = createSessions({
    agent: obedient,
    store,
    ephemeral,
    snapshots,
    ...broken?.({ store, snapshots }),
    disk: { readText: async () => "", writeText: (await import("node:fs/promises")).writeFile },
    prefix: "otter",
    defaults: { model: "test-model", ...(startOptions && { options: startOptions }) },
    ttl,
    hold,
    coalesce: false,
    quotas,
    commands: palette,
    ...(monotonic && { monotonic }),
    ...(clock && { clock }),
    ...(files && { files }),
    ...(elsewhere && { elsewhere }),
  });
  const app = createApp({
    name: "otter",
    version: "1.2.3",
    sessions,
    palette,
    defaultCwd: cwd,
    authToken: MASTER,
    log: (message, fields) => logged.push(JSON.stringify({ message, ...fields })),
    ...deps,
  });
  const listening = await listen(app, { host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${listening.port}`;
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= Promise.all([listening.close(), sessions.shutdown()]).then(async () => {
      await store.close();
      await ephemeral.close();
    });
    return stopping;
  };
  onTestFinished(stop);
  return {
    app,
    sessions,
    store,
    port: listening.port,
    url,
    cwd,
    logged,
    stop,
    connections: () =>
      new Promise((resolve, reject) =>
        listening.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    async call(method, path, { body, token = MASTER, headers = {}, isUnlisted = false } = {}) {
      const response = await fetch(url + path, {
        method,
        headers: {
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const answer = { status: response.status, headers: response.headers, text, body: parsed(text) };
      if (!isUnlisted) expectListed(method, path, answer);
      return answer;
    },
  };
}

/** A new session that is not yet prompted, with its token. */
export async function newSession(served: Served): Promise<{ id: string; token: string }> {
  const { body } = await served.call("POST", "/session", { body: {} });
  return { id: body.session_id, token: body.session_token };
}

/** Runs a prompt to its end. */
export async function runTurn(served: Served, id: string, prompt: string): Promise<void> {
  await served.call("POST", `/sessions/${id}/turns`, { body: { prompt } });
  await served.sessions.find(id)!.idle();
}

export interface Frame {
  readonly id: number | null;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely.
  readonly data: any;
}

export interface OpenStream {
  readonly response: Response;
  readonly frames: Frame[];
  /** Everything received so far, as it came. */
  raw(): string;
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  until(condition: (frames: readonly Frame[]) => boolean): Promise<void>;
  leave(): void;
}

/** Opens an event stream and collects its frames. */
export async function openStream(
  served: Served,
  path: string,
  headers: Record<string, string> = {},
): Promise<OpenStream> {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const response = await fetch(served.url + path, {
    headers: { authorization: `Bearer ${MASTER}`, ...headers },
    signal: abort.signal,
  });
  const frames: Frame[] = [];
  let text = "";
  const ended = (async () => {
    try {
      for await (const block of blocksOf(response, (piece) => {
        text += piece;
      }))
        if (!block.startsWith(":")) frames.push(frameOf(block));
    } catch {
      // A cut is an end too.
    }
  })();
  return {
    response,
    frames,
    raw: () => text,
    ended,
    leave: () => abort.abort(),
    async until(condition) {
      await eventually(() => condition(frames));
    },
  };
}

/** A stream as it comes, block by block: clients are written for this wire, so its tests read it without one. */
export async function* blocksOf(response: Response, onText = (_: string) => {}): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const piece = decoder.decode(chunk, { stream: true });
    onText(piece);
    const blocks = (rest + piece).split("\n\n");
    rest = blocks.pop() ?? "";
    yield* blocks;
  }
}

export async function eventually(condition: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  await vi.waitUntil(condition, { interval: 10, timeout: ms });
}

/** Sends bytes as they are and reads what comes until the server closes, or until the headers and a moment have passed. */
export async function sendRaw(
  port: number,
  bytes: string | Buffer,
  ms = 5000,
): Promise<{ status: number; text: string }> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  await once(socket, "connect");
  socket.write(bytes);
  await Promise.race([once(socket, "close"), eventually(() => complete(text), ms).catch(() => {})]);
  socket.destroy();
  return { status: Number(/^HTTP\/1\.\d (\d{3})/.exec(text)?.[1] ?? 0), text };
}

export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "http-server-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

// --- internal ---

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function frameOf(block: string): Frame {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
  const id = field("id");
  return { id: id === undefined ? null : Number(id), event: field("event") ?? "", data: parsed(field("data") ?? "") };
}

function complete(text: string): boolean {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  // A stream ends with its connection.
  if (/^content-type: text\/event-stream/im.test(head)) return false;
  // A chunked body has an end of its own; a body that is cut short ends with its connection.
  if (/^transfer-encoding: chunked/im.test(head)) return text.endsWith("\r\n0\r\n\r\n");
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  return text.includes("\r\n\r\n") && (length === undefined || body.length >= Number(length));
}

/**
 * `say TEXT`, `burst COUNT SIZE`, `wait` (until cancelled), `ask` (for a permission; `ask choices`: with choices of its own),
 * `question`, `write PATH TEXT`, `fail`; anything else is echoed.
 */
const obedient: Agent = async function* (turn, { ask, question, workspace, signal }) {
  const [verb = "", ...words] = turn.prompt.text.split(" ");
  yield { type: "step_start", metadata: { step: 0 } };
  switch (verb) {
    case "burst":
      for (let i = 0; i < Number(words[0]); i++) {
        yield say("x".repeat(Number(words[1])));
        if (i % 64 === 63) await new Promise((resolve) => setImmediate(resolve));
      }
      break;
    case "wait":
      yield say("waiting");
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      return;
    case "ask": {
      yield call("c1", "Bash", { command: "make" });
      const choices = words[0] === "choices" ? { choices: CHOICES } : {};
      const { decision } = await ask({
        call_id: "c1",
        tool: "Bash",
        args: { command: "make" },
        risk: "high",
        ...choices,
      });
      yield result("c1", decision);
      yield say(decision);
      break;
    }
    case "question": {
      const { answer } = await question!({ call_id: "c1", question: "Which?", options: [{ name: "this" }] });
      yield say(`answer: ${answer}`);
      break;
    }
    case "write": {
      const path = join(workspace.cwd, words[0]!);
      yield call("c1", "Write", { path });
      await workspace.willWrite(path);
      await workspace.writeText(path, words.slice(1).join(" "));
      yield result("c1", "written");
      break;
    }
    case "fail":
      throw new Error("the model is away");
    default:
      yield say(verb === "say" ? words.join(" ") : `echo: ${turn.prompt.text}`);
  }
  yield { type: "step_end", metadata: { step: 0 } };
};

const CHOICES: readonly PermissionChoice[] = [
  { id: "allow_once", name: "Yes", kind: "allow_once" },
  { id: "reject_once", name: "No", kind: "reject_once" },
];

function say(text: string): AgentEvent {
  return { type: "text_delta", metadata: { text } };
}

function call(call_id: string, tool: string, args: Record<string, unknown>): AgentEvent {
  return { type: "tool_call", metadata: { call_id, tool, args, kind: "other", title: tool, locations: [] } };
}

function result(call_id: string, output: string): AgentEvent {
  return { type: "tool_result", metadata: { call_id, success: true, output, duration_ms: 1 } };
}
