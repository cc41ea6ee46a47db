/** The last step of every answer: adds warnings about unknown fields, and compresses where the caller asks for that. */
import { promisify } from "node:util";
import type { Context } from "hono";
import type { AppEnv } from "./deps.js";
import { LIMITS } from "./limits.js";

/** @param response what the route answered: whole, or a stream that the context marks as such. */
export async function finishAnswer(c: Context<AppEnv>, response: Response): Promise<Response> {
  const warnings = c.get("warnings");
  // Only answers to GET: an answer to a POST may hold a token, and the length of a compressed answer can leak it.
  const mayCompress = c.req.method === "GET" && accepts(c.req.header("accept-encoding"), "gzip");
  // The server writes an answer whose headers nobody has read in half the time.
  if (!warnings && !mayCompress) return response;
  const streamed = c.get("streamed") === true;
  const type = response.headers.get("content-type") ?? "";
  if (warnings && !streamed && type.startsWith("application/json")) {
    const body = (await response.json()) as object;
    return new Response(JSON.stringify({ ...body, warnings }), response);
  }
  if (!mayCompress || !COMPRESSIBLE.test(type)) return response;
  if (streamed) return compressed(response, response.body?.pipeThrough(new CompressionStream("gzip")) ?? null);
  const text = await response.text();
  if (text.length < LIMITS.compressedFrom) return new Response(text, response);
  const { gzip } = await import("node:zlib");
  return compressed(response, await promisify(gzip)(text));
}

/** Whether an `Accept-Encoding` header names the encoding with a weight above 0. */
export function accepts(header: string | undefined, encoding: string): boolean {
  const named = header?.split(",").find((one) => one.split(";")[0]?.trim().toLowerCase() === encoding);
  return named !== undefined && !/;\s*q=0(\.0*)?\s*$/i.test(named);
}

// --- internal ---

const COMPRESSIBLE = /^(application\/json|text\/(html|markdown|plain))/;

function compressed(response: Response, body: ReadableStream<Uint8Array> | Buffer | null): Response {
  const headers = new Headers(response.headers);
  headers.set("Content-Encoding", "gzip");
  headers.append("Vary", "Accept-Encoding");
  return new Response(body, { status: response.status, headers });
}
