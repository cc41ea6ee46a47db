/** web_fetch: fetches a page of the public internet as text, with limits of size and time. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { orElse } from "@chimera/acp-schema/lenient";
import { startOf } from "@chimera/acp-schema/text";
import * as v from "valibot";
import { AgentError } from "../errors.js";
import { withDeadline } from "../loop/patience.js";
import type { Tool } from "../tool.js";
import { capOutput, defineTool, describeCall } from "./define.js";

export interface WebFetchOptions {
  /** Resolves host names. @defaultValue a lookup that refuses every address that is not public */
  readonly lookup?: LookupFunction;
  /** Time limit for a page, in milliseconds. @defaultValue 30 seconds */
  readonly limitMs?: number;
}

/**
 * The tool that fetches public pages as text.
 *
 * @example
 * const agent = createAgent({ resolveModel, tools: [...builtinTools(), createWebFetchTool()] });
 */
export function createWebFetchTool(options: WebFetchOptions = {}): Tool<{ url: string }> {
  return defineTool({
    name: "web_fetch",
    aliases: ["WebFetch", "fetch"],
    description: "Fetch a page of the public internet; HTML comes as text.",
    input: v.object({ url: v.pipe(v.string(), v.description("An http or https address.")) }),
    kind: "fetch",
    parallel: true,
    describe: ({ url }) => {
      const { host, pathname } = parseAddress(url);
      return describeCall(`Fetch ${host}${pathname}`);
    },
    run: async ({ url }, context) => {
      const limitMs = options.limitMs ?? LIMIT_MS;
      const page = await withDeadline(context.signal, limitMs, (signal) =>
        load(parseAddress(url), signal, options).catch((error: unknown) => {
          context.signal.throwIfAborted();
          throw signal.aborted ? failed(url, `it took longer than ${limitMs / 1000} s`) : error;
        }),
      );
      const { htmlToText } = await import("./html-to-text.js");
      const text = page.isHtml ? await htmlToText(page.text, page.url) : page.text;
      const cut = page.isCut ? `\n[only the first ${MAX_BYTES} bytes were read]` : "";
      return { success: true, output: await capOutput(`${page.url.href}\n\n${text}${cut}`, context) };
    },
  });
}

// --- internal ---

const LIMIT_MS = 30_000;
const MAX_BYTES = 2 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const LONGEST_ADDRESS = 2048;

interface Page {
  readonly url: URL;
  readonly text: string;
  readonly isHtml: boolean;
  readonly isCut: boolean;
}

/** Parses an absolute address without credentials. Refuses forms in which another parser might read a different host. */
function parseAddress(text: string): URL {
  if (text.length > LONGEST_ADDRESS || !/^https?:\/\/[^\\\s\p{Cc}]+$/iu.test(text) || !URL.canParse(text)) {
    throw new AgentError("bad_address", "url must be an absolute http or https address.");
  }
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw new AgentError("bad_address", "url must not carry credentials.");
  url.hash = "";
  return url;
}

/** Follows redirects only on the same host, because another host needs its own permission. */
async function load(start: URL, signal: AbortSignal, options: WebFetchOptions): Promise<Page> {
  let url = start;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const response = await ask(url, signal, options);
    const status = response.statusCode ?? 0;
    const { location } = response.headers;
    if (status < 300 || status > 399 || location === undefined) return await pageOf(url, response, status);
    response.destroy();
    if (!URL.canParse(location, url.href)) throw failed(url.href, "it redirects to something that is not an address");
    const next = parseAddress(new URL(location, url).href);
    if (next.hostname !== url.hostname) {
      throw failed(url.href, `it redirects to another host: fetch ${startOf(next.href, 500)} if that is what you want`);
    }
    url = next;
  }
  throw failed(start.href, `it redirects more than ${MAX_REDIRECTS} times`);
}

async function ask(url: URL, signal: AbortSignal, options: WebFetchOptions): Promise<IncomingMessage> {
  const { isPublicHost, publicLookup } = await import("@chimera/sandbox/public-address");
  const refusal = () => new AgentError("bad_address", `${url.host} is not on the public internet.`);
  if (!isPublicHost(url)) throw refusal();
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, {
      agent: false,
      signal,
      lookup: options.lookup ?? publicLookup({ refusal }),
      headers: { accept: "text/html, text/plain, application/json, */*;q=0.1", "user-agent": "chimera-fetch/1" },
    });
    sent.once("response", resolve);
    sent.once("error", (error: NodeJS.ErrnoException) => {
      reject(error instanceof AgentError ? error : failed(url.href, error.code ?? error.message));
    });
    sent.end();
  });
}

async function pageOf(url: URL, response: IncomingMessage, status: number): Promise<Page> {
  const type = (response.headers["content-type"] ?? "text/plain").toLowerCase();
  if (status < 200 || status > 299) {
    response.destroy();
    throw failed(url.href, `the server answered ${status}`);
  }
  if (!/^(text\/|application\/([\w.+-]*\+)?(json|xml|javascript|x-?yaml|yaml|toml))/.test(type)) {
    response.destroy();
    throw failed(url.href, `it is ${startOf(type, 80)}, not text`);
  }
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      parts.push(part);
      size += part.length;
      if (size > MAX_BYTES) break;
    }
  } finally {
    response.destroy();
  }
  const bytes = Buffer.concat(parts).subarray(0, MAX_BYTES);
  const charset = /charset="?([\w-]+)/.exec(type)?.[1] ?? "utf-8";
  return {
    url,
    text: orElse(() => new TextDecoder(charset), UTF8).decode(bytes),
    isHtml: /^(text\/html|application\/xhtml)/.test(type),
    isCut: size > MAX_BYTES,
  };
}

const UTF8 = new TextDecoder();

function failed(url: string, why: string): AgentError {
  return new AgentError("bad_address", `${startOf(url, 500)} could not be fetched: ${why}.`);
}
