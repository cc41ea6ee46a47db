/** Sends a POST and streams the reply, over kept-alive node:http(s). `fetch` would double the time to the first chunk. */
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import { urlToHttpOptions } from "node:url";
import { LONGEST_TIMER_MS, requireDelay } from "@chimera/acp-schema/timer";
import { AgentError } from "../errors.js";
import type { Env } from "./table.js";

export interface PostRequest {
  /** @defaultValue POST */
  readonly method?: "GET";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

export interface PostReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as text, as it arrives, with a short first piece. Throws `connection_lost` or `stalled`. Stopping early closes the reply. */
  readonly chunks: AsyncIterable<string>;
}

export type Post = (request: PostRequest) => Promise<PostReply>;

export interface PostOptions {
  /** How long a reply may send nothing at all, in milliseconds. Models think for minutes. @defaultValue 300 seconds */
  readonly idleMs?: number;
  /** Holds HTTPS_PROXY, HTTP_PROXY and NO_PROXY. @defaultValue no proxy */
  readonly env?: Env;
}

/**
 * Makes a post function with its own pool of kept-alive connections. Idle connections do not keep the process alive.
 *
 * @example
 * const post = createPost({ env: process.env });
 * const resolveModel = createModels({ env: process.env, chain: anthropicFirst, post });
 */
export function createPost({ idleMs: asked = 300_000, env = {} }: PostOptions = {}): Post {
  const idleMs = Math.min(requireDelay("idleMs", asked), LONGEST_TIMER_MS);
  const transports = new Map<string, Promise<Transport>>();
  /** By address. It takes as long to read one and to find the way there as to write a request. */
  const targets = new Map<string, Promise<Target>>();
  const proxied = PROXY_VARIABLES.some((name) => env[name] || env[name.toUpperCase()]);
  const transport = async (url: URL): Promise<Transport> => {
    const proxy = proxied ? (await import("./proxy.js")).proxyFor(url, env) : null;
    const way = `${url.protocol} ${proxy?.href ?? ""}`;
    const known = transports.get(way);
    if (known) return known;
    const opened = proxy ? openProxied(url.protocol, proxy) : openTransport(url.protocol);
    transports.set(way, opened);
    return opened;
  };
  const findTarget = async (address: string): Promise<Target> => {
    const url = parseUrl(address);
    const { request, optionsFor } = await transport(url);
    return { url, request, options: optionsFor(url) };
  };
  const targetOf = (address: string): Promise<Target> => {
    const known = targets.get(address);
    if (known) return known;
    if (targets.size >= MOST_TARGETS) targets.clear();
    const found = findTarget(address);
    targets.set(address, found);
    return found;
  };
  return async (request) => {
    const target = await targetOf(request.url);
    const watch = createWatch(idleMs);
    try {
      const reply = await send(target, request, watch);
      return { status: reply.statusCode ?? 0, headers: reply.headers, chunks: read(reply, watch) };
    } catch (error) {
      watch.stop();
      throw error;
    }
  };
}

// --- internal ---

const LINGER_MS = 250;
const PROXY_VARIABLES = ["https_proxy", "http_proxy"];
/** Connections kept for the next requests: as many sessions as run at once in one process. Servers close those that stay idle. */
const POOL = { keepAlive: true, maxFreeSockets: 64 };

/** More than anybody uses at once: an address may hold the name of a model. */
const MOST_TARGETS = 256;

interface Transport {
  request(options: RequestOptions): ClientRequest;
  /** What all requests to an address have in common. */
  optionsFor(url: URL): RequestOptions;
}

/** Where a request goes. */
interface Target extends Pick<Transport, "request"> {
  readonly url: URL;
  readonly options: RequestOptions;
}

async function openTransport(protocol: string): Promise<Transport> {
  const { Agent, request } = protocol === "https:" ? await import("node:https") : await import("node:http");
  const agent = new Agent(POOL);
  return { request, optionsFor: (url) => ({ ...urlToHttpOptions(url), agent }) };
}

/** Reaches an https server through a tunnel. Sends a request for an http server to the proxy itself. */
async function openProxied(protocol: string, proxy: URL): Promise<Transport> {
  const { createTunnelAgent, proxyHeaders } = await import("./proxy.js");
  if (protocol === "https:") {
    const { request } = await import("node:https");
    const agent = createTunnelAgent(proxy, POOL);
    return { request, optionsFor: (url) => ({ ...urlToHttpOptions(url), agent }) };
  }
  const { request, optionsFor } = await openTransport(proxy.protocol);
  return {
    request,
    optionsFor: (url) => ({
      ...optionsFor(proxy),
      path: url.href,
      headers: { host: url.host, ...proxyHeaders(proxy) },
    }),
  };
}

function parseUrl(text: string): URL {
  try {
    const url = new URL(text);
    if (url.protocol === "http:" || url.protocol === "https:") return url;
  } catch {}
  throw new AgentError("model_unavailable", `not an http(s) address: ${text}`);
}

async function send(target: Target, request: PostRequest, watch: Watch): Promise<IncomingMessage> {
  const { url, options } = target;
  const length = { "content-length": String(Buffer.byteLength(request.body)) };
  const headers = { ...request.headers, ...length, ...(options.headers as object | undefined) };
  for (;;) {
    request.signal.throwIfAborted();
    const sent = target.request({ ...options, method: request.method ?? "POST", headers });
    cutOnAbort(sent, request.signal);
    watch.guard(sent);
    try {
      const reply = await new Promise<IncomingMessage>((resolve, reject) => {
        sent.once("response", resolve);
        sent.on("error", reject);
        // A server that switches protocols unasked ends the request like this too.
        sent.once("close", () => reject(new Error("it closed without a reply")));
        sent.end(request.body);
      });
      watch.guard(reply);
      return reply;
    } catch (error) {
      request.signal.throwIfAborted();
      // The server closed a kept-alive connection just as it was reused. The request had no effect, so send it again.
      if (sent.reusedSocket && lostConnection(error)) continue;
      throw connectionError(error, url);
    }
  }
}

/** Replaces Node's `signal` option, which would destroy a connection that is back in the pool, where nothing handles the error. */
function cutOnAbort(sent: ClientRequest, signal: AbortSignal): void {
  let reply: IncomingMessage | undefined;
  const cut = (): void => {
    // With a complete reply the connection is already returning to the pool.
    if (!reply?.complete) sent.destroy(signal.reason as Error);
  };
  signal.addEventListener("abort", cut, { once: true });
  sent.once("response", (arrived) => {
    reply = arrived;
  });
  sent.once("close", () => signal.removeEventListener("abort", cut));
}

/** Characters that may wait for the reader. Beyond that the connection pauses. */
const MOST_WAITING = 64 * 1024;
/** Characters in the first piece of a reply, so that its first words appear before the rest is parsed. */
const OPENING = 2 * 1024;

/** Yields the text that has arrived. Iterating the reply itself would cost a dozen listeners and several promises per chunk. */
function read(reply: IncomingMessage, watch: Watch): AsyncIterable<string> {
  let text = "";
  let isOpened = false;
  let isStarted = false;
  let isEnded = false;
  let isLeft = false;
  let failure: { readonly error: unknown } | null = null;
  let waiting: { resolve(result: IteratorResult<string, undefined>): void; reject(error: unknown): void } | null = null;
  const over = { value: undefined, done: true } as const;

  const take = (): IteratorResult<string, undefined> => {
    watch.pause();
    const end = isOpened ? text.length : OPENING;
    const value = text.slice(0, end);
    text = text.slice(end);
    isOpened = true;
    return { value, done: false };
  };
  const settle = (): void => {
    if (!waiting || (text === "" && !failure && !isEnded)) return;
    const { resolve, reject } = waiting;
    waiting = null;
    if (text !== "") resolve(take());
    else if (failure) reject(failure.error);
    else resolve(over);
  };
  const fail = (error: unknown): void => {
    if (isEnded || failure) return;
    watch.stop();
    failure = { error: connectionError(error) };
    settle();
  };
  const start = (): void => {
    reply.setEncoding("utf8");
    reply.on("data", (chunk: string) => {
      if (isLeft) return;
      text += chunk;
      if (waiting) settle();
      else if (text.length > MOST_WAITING) reply.pause();
    });
    reply.once("end", () => {
      isEnded = true;
      watch.stop();
      settle();
    });
    reply.on("error", fail);
    reply.once("close", () => fail(new Error("it closed before its end")));
  };
  const iterator: AsyncIterator<string, undefined> = {
    next() {
      if (!isStarted) start();
      isStarted = true;
      if (!isEnded && !failure) watch.resume();
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        settle();
        if (waiting && reply.isPaused()) reply.resume();
      });
    },
    async return() {
      isLeft = true;
      watch.stop();
      if (!isEnded && !failure) linger(reply);
      return over;
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** Reads the last bytes for a reader that has stopped, because only then can the connection be reused. */
function linger(reply: IncomingMessage): void {
  const timer = setTimeout(() => reply.destroy(), LINGER_MS);
  timer.unref();
  reply.once("close", () => clearTimeout(timer));
  reply.on("error", () => {});
  reply.resume();
}

type Watch = ReturnType<typeof createWatch>;

/** Ends a request whose reply stays silent. Time in which the reader is not waiting does not count. */
function createWatch(idleMs: number) {
  let guarded: ClientRequest | IncomingMessage | undefined;
  let reading = true;
  const timer = setTimeout(() => {
    if (!reading) timer.refresh();
    else guarded?.destroy(new AgentError("stalled", `the model sent nothing for ${Math.round(idleMs / 1000)} seconds`));
  }, idleMs);
  return {
    guard(stream: ClientRequest | IncomingMessage) {
      guarded = stream;
      timer.refresh();
    },
    pause() {
      reading = false;
    },
    resume() {
      reading = true;
      timer.refresh();
    },
    stop: () => clearTimeout(timer),
  };
}

function lostConnection(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === "ECONNRESET" || code === "EPIPE";
}

function connectionError(error: unknown, url?: URL): unknown {
  if (error instanceof AgentError || (error as Error).name === "AbortError") return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (url && code === "ECONNREFUSED") {
    return new AgentError("model_unavailable", `nothing listens at ${url.host}`, { cause: error });
  }
  const where = url ? ` to ${url.host}` : "";
  return new AgentError("connection_lost", `lost the connection${where}: ${code ?? message}`, { cause: error });
}
