/** `acp --connect` relays between stdio and `/acp` of a running server. It hides broken connections and restarts of the server from the client. */
import { once } from "node:events";
import { connect } from "node:net";
import { createLanes } from "@chimera/acp-schema/promises";
import { resumingFetch } from "@chimera/client/acp";
import { ErrorCode, encodeError, frameOf, type LineChannel, streamChannel } from "@chimera/ndjson-rpc";
import { takeOverStdio } from "@chimera/ndjson-rpc/stdio";
import type { Invocation } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import { readConfig } from "../config/read-config.js";
import { resolvePaths } from "../paths.js";
import { readClientToken } from "./http-access.js";

const MOST_DEPTH = 64;
/** How many characters of the client wait for the server before no more are read. */
const MOST_WAITING = 1024 * 1024;

/** @returns 0 when the client has gone. Throws a UsageError for an invalid address, or when no server answers there. */
export async function connectAcp(invocation: Invocation): Promise<number> {
  const { operands, process } = invocation;
  if (operands[0]?.startsWith("unix:")) return joinSocket(operands[0].replace(/^unix:(\/\/(?=\/))?/, ""), process);
  const url = new URL(
    "acp",
    `${(operands[0] === undefined ? await localServer(invocation) : addressOf(operands[0])).replace(/\/+$/, "")}/`,
  );
  const token = readClientToken(invocation, readConfig(invocation), url.href);
  const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }) };
  const { input, output, release } = takeOverStdio();
  const channel = streamChannel(input, output);
  const stop = new AbortController();
  const ended = new Promise<void>((resolve) => channel.onClose(() => resolve()));
  const relay = createRelay(url, headers, channel, stop.signal);
  let waiting = 0;
  channel.onLine((line) => {
    const frame = frameOf(line, MOST_DEPTH);
    if (frame.kind === "invalid") return channel.send(encodeError(frame.idText, frame));
    const text = String(line);
    waiting += text.length;
    channel.pause(waiting > MOST_WAITING);
    void relay.send(text, frame).then(() => {
      waiting -= text.length;
      channel.pause(waiting > MOST_WAITING);
    });
  });
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => stop.abort());
  await Promise.race([ended, new Promise((resolve) => stop.signal.addEventListener("abort", resolve, { once: true }))]);
  await relay.end();
  stop.abort();
  await channel.close();
  release();
  return 0;
}

// --- internal ---

/** Relays to a Unix socket, which takes the lines of ACP unchanged and needs no token. */
async function joinSocket(path: string, process: NodeJS.Process): Promise<number> {
  const socket = connect(path);
  await once(socket, "connect").catch((error: Error) => {
    throw new UsageError(`--connect unix:${path}: ${error.message}`);
  });
  // Every later error ends the connection.
  socket.on("error", () => {});
  const { output, release } = takeOverStdio();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => socket.destroy());
  process.stdin.pipe(socket);
  socket.setEncoding("utf8");
  try {
    for await (const text of socket) await new Promise<void>((done) => output.write(text, () => done()));
  } catch {
    // A signal or the server ended the connection.
  }
  release();
  return 0;
}

type Frame = Exclude<ReturnType<typeof frameOf>, { readonly kind: "invalid" }>;

function createRelay(url: URL, own: Record<string, string>, client: LineChannel, signal: AbortSignal) {
  const send = resumingFetch();
  const streams = new Set<string | null>();
  /** By the id of a question, the session on whose stream it came. */
  const questions = new Map<unknown, string>();
  let connection: string | null = null;
  const { inLane, settled } = createLanes();
  /** The ids of the client's unanswered requests. */
  const unanswered = new Set<unknown>();
  let onAnswered = (): void => {};
  const answer = (id: unknown, line: string): void => {
    client.send(line);
    unanswered.delete(id);
    onAnswered();
  };

  const headersFor = (session: string | null): Record<string, string> => ({
    ...own,
    ...(connection !== null && { "acp-connection-id": connection }),
    ...(session !== null && { "acp-session-id": session }),
  });
  /** Reads the stream of a session, or with null of the connection, until it ends. */
  const listen = async (session: string | null): Promise<void> => {
    if (streams.has(session)) return;
    streams.add(session);
    const headers = { ...headersFor(session), accept: "text/event-stream" };
    const left = () => streams.delete(session);
    try {
      const response = await send(url, { headers, signal });
      if (!response.ok) throw new Error(await describe(response));
      void forward(response, session).then(left, left);
    } catch (error) {
      // The next message that names the session tries again.
      left();
      throw error;
    }
  };
  const forward = async (response: Response, session: string | null): Promise<void> => {
    for await (const line of framesIn(response)) {
      await hear(line, session);
      await client.drained();
    }
  };
  const hear = async (line: string, session: string | null): Promise<void> => {
    // Updates are not parsed: only answers and questions begin with an id.
    if (line.startsWith('{"jsonrpc":"2.0","id":')) {
      const frame = frameOf(line, MOST_DEPTH);
      if (frame.kind === "request" && session !== null) questions.set(frame.id, session);
      const made = frame.kind === "response" ? Object(frame.result).sessionId : undefined;
      if (typeof made === "string") await listen(made);
      if (frame.kind === "response") return answer(frame.id, line);
    }
    client.send(line);
  };
  const deliver = async (text: string, frame: Frame): Promise<void> => {
    const named = frame.kind === "response" ? undefined : Object(frame.params).sessionId;
    const session =
      frame.kind === "response" ? (questions.get(frame.id) ?? null) : typeof named === "string" ? named : null;
    if (frame.kind === "response") questions.delete(frame.id);
    if (connection !== null && session !== null) await listen(session);
    const headers = { ...headersFor(session), "content-type": "application/json" };
    const response = await send(url, { method: "POST", headers, body: text, signal });
    if (!response.ok) throw new Error(await describe(response));
    if (response.status === 202) return;
    connection = response.headers.get("acp-connection-id");
    answer(Object(frame).id, (await response.text()).trim());
    await listen(null);
  };

  return {
    /** Sends messages in order, and resolves when this one is delivered. Answers a request that cannot be delivered with an error. */
    send(text: string, frame: Frame): Promise<unknown> {
      if (frame.kind === "request") unanswered.add(frame.id);
      return inLane("", () =>
        deliver(text, frame).catch((error: Error) => {
          if (frame.kind !== "request" || signal.aborted || !unanswered.has(frame.id)) return;
          const why = error.cause instanceof Error ? error.cause.message || error.message : error.message;
          const message = `${url.origin}: ${why}`;
          const data = { code: "unreachable" };
          answer(frame.id, encodeError(frame.idText, { code: ErrorCode.internalError, message, data }));
        }),
      );
    },
    /** Waits a moment for unanswered requests, because a script writes its requests and closes the pipe. */
    async end(): Promise<void> {
      const late = AbortSignal.timeout(2000);
      await new Promise<void>((resolve) => {
        late.addEventListener("abort", () => resolve());
        onAnswered = () => (unanswered.size === 0 || signal.aborted) && void settled().then(resolve);
        onAnswered();
      });
      if (connection === null) return;
      await send(url, { method: "DELETE", headers: headersFor(null), signal: late }).catch(() => {});
    },
  };
}

/** Reads what `resumingFetch` writes, and not by `serverEvents`: without comments, a quiet stream would seem to be a dead one. */
async function* framesIn(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data: ")) yield line.slice(6);
  }
}

async function describe(response: Response): Promise<string> {
  const { message, error } = (await response.json().catch(() => ({}))) as { message?: string; error?: string };
  return `answered ${response.status}: ${message ?? error ?? response.statusText}`;
}

function addressOf(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/acp\/?$/, "");
  throw new UsageError(
    `--connect takes the address of a server, such as https://host:5173 or unix:/path, not ${JSON.stringify(text)}`,
  );
}

/** The one server of this program that runs on this machine. */
async function localServer({ profile, process }: Invocation): Promise<string> {
  const { addressOf, runningServers } = await import("../pidfile.js");
  const running = runningServers(profile.name, resolvePaths(process.env).run);
  const [one] = running;
  if (!one)
    throw new UsageError(
      `no ${profile.name} server runs here: start one with ${profile.name} serve --http, or name one`,
    );
  if (running.some(({ pid }) => pid !== one.pid)) {
    const ports = running.map(({ port }) => port).join(", ");
    throw new UsageError(`several ${profile.name} servers run here (ports ${ports}): name one, as ${addressOf(one)}`);
  }
  return addressOf(one);
}
