import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { requireDelay, startTimer } from "@chimera/acp-schema/timer";
import { sessionPrefix } from "@chimera/event-store";
import { isPublicHost, publicLookup, type ResolveName } from "@chimera/sandbox/public-address";
import { isReportError, ReportError } from "../errors.js";
import { contentType, type TranscriptFormat } from "../transcript/render.js";

export interface Posting {
  readonly format: TranscriptFormat;
  /** `http`: the address of the collector. */
  readonly url?: string | null;
  /** `http`: whether the address comes from the operator, who may name any host. @defaultValue false, for public hosts only */
  readonly trusted?: boolean;
  readonly signal?: AbortSignal;
  /** Time limit from the first lookup to the last byte of the reply. @defaultValue 30 s */
  readonly timeoutMs?: number;
  /** @defaultValue the system's resolver */
  readonly resolve?: ResolveName;
}

/** Posts a transcript and returns up to 1 MiB of the reply. Follows no redirects, and does not reveal the text of a failed reply. */
export async function postTranscript(
  chunks: AsyncIterable<string>,
  id: string,
  posting: Posting,
): Promise<{ status: number; reply: string }> {
  const limitMs = requireDelay("timeoutMs", posting.timeoutMs ?? TIMEOUT_MS);
  const url = parseShareUrl(posting.url);
  if (!posting.trusted && !isPublicHost(url)) throw blocked();
  const body = await takeStart(chunks);
  const deadline = new AbortController();
  const stop = () => deadline.abort();
  const timer = startTimer(limitMs, stop);
  posting.signal?.addEventListener("abort", stop, { once: true });
  try {
    if (posting.signal?.aborted) stop();
    const response = await send(url, body, { id, ...posting }, deadline.signal);
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) {
      response.destroy();
      throw new ReportError("upstream_failed", `the collector answered ${status}`);
    }
    return { status, reply: await readReply(response) };
  } catch (error) {
    if (isReportError(error)) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? "the connection failed";
    const reason = posting.signal?.aborted ? "cancelled" : deadline.signal.aborted ? "no answer in time" : code;
    throw new ReportError("upstream_failed", `the transcript could not be delivered: ${reason}`, { cause: error });
  } finally {
    timer.stop();
    posting.signal?.removeEventListener("abort", stop);
  }
}

// --- internal ---

const TIMEOUT_MS = 30_000;
const LONGEST_URL = 2048;
const LARGEST_REPLY = 1024 * 1024;
/** Up to this size the length is sent in advance, because simple collectors do not understand a chunked body. */
const LARGEST_MEASURED = 1024 * 1024;

/** Parses an absolute http(s) address without credentials. Refuses forms in which another parser might read a different host. */
function parseShareUrl(text: unknown): URL {
  if (typeof text !== "string" || text === "") throw new ReportError("invalid_url", "url is missing");
  if (text.length > LONGEST_URL || !/^https?:\/\/[^\\\s\p{Cc}]+$/iu.test(text) || !URL.canParse(text)) {
    throw new ReportError("invalid_url", "url must be an absolute http or https address");
  }
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") {
    throw new ReportError("invalid_url", "url must not carry credentials");
  }
  return url;
}

/** The same error for every refused address, so that it reveals nothing about the network. */
function blocked(): ReportError {
  return new ReportError("blocked_url", "the address is not on the public internet");
}

/** The first part of a document, and its rest if it is longer. */
interface Body {
  readonly start: Buffer;
  readonly rest: AsyncIterable<string> | null;
}

async function send(
  url: URL,
  body: Body,
  { id, format, trusted, resolve }: Posting & { id: string },
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const prefix = sessionPrefix(id);
  const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
    method: "POST",
    agent: false,
    signal,
    ...(!trusted && { lookup: publicLookup({ resolve, refusal: blocked }) }),
    headers: {
      "content-type": contentType(format),
      "user-agent": `chimera-${/^[a-z0-9]{1,32}$/.test(prefix) ? `${prefix}-` : ""}share/1`,
      ...(body.rest === null && { "content-length": body.start.length }),
    },
  });
  return await new Promise<IncomingMessage>((resolve, reject) => {
    request.on("response", resolve);
    request.on("error", reject);
    sendBody(request, body).catch(reject);
  });
}

async function sendBody(request: ClientRequest, { start, rest }: Body): Promise<void> {
  if (rest === null) {
    request.end(start);
    return;
  }
  request.write(start);
  await pipeline(Readable.from(rest), request);
}

async function takeStart(chunks: AsyncIterable<string>): Promise<Body> {
  const iterator = chunks[Symbol.asyncIterator]();
  const parts: Buffer[] = [];
  let size = 0;
  for (;;) {
    const next = await iterator.next();
    if (next.done) return { start: Buffer.concat(parts), rest: null };
    const part = Buffer.from(next.value);
    parts.push(part);
    size += part.length;
    if (size > LARGEST_MEASURED) {
      return { start: Buffer.concat(parts), rest: { [Symbol.asyncIterator]: () => iterator } };
    }
  }
}

async function readReply(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part);
    size += part.length;
    if (size >= LARGEST_REPLY) break;
  }
  return Buffer.concat(parts).subarray(0, LARGEST_REPLY).toString("utf8");
}
