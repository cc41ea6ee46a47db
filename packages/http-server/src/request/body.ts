/** Reads the JSON body of a request: limits its size, and checks its type and the route's schema. */
import type { IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";
import { type ErrorCode, type RouteName, routes, type TurnBody } from "@chimera/acp-schema/http";
import { type PromptInput, promptOf } from "@chimera/session";
import type { Context } from "hono";
import * as v from "valibot";
import type { AppEnv } from "../deps.js";
import { HttpError, isHttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { noteUnknown } from "./unknown.js";

type WithBody = { [K in RouteName]: (typeof routes)[K] extends { body: v.GenericSchema } ? K : never }[RouteName];
type BodyOf<K extends WithBody> = v.InferOutput<(typeof routes)[K]["body"]>;

/**
 * Reads the body by the route's schema. An empty body counts as `{}`, and an optional field with null as absent.
 *
 * @param codes the error codes of missing or malformed fields; the other fields have `invalid_body`
 */
export async function readBody<K extends WithBody>(
  c: Context<AppEnv>,
  route: K,
  codes: Readonly<Record<string, ErrorCode>> = {},
): Promise<BodyOf<K>> {
  const given = await readJson(c);
  noteUnknown(c, route, "body", Object.keys(given));
  const schema: v.GenericSchema & { readonly entries?: v.ObjectEntries } = routes[route].body;
  const isGiven = ([name, value]: [string, unknown]) => value !== null || schema.entries?.[name]?.type !== "optional";
  const body = Object.fromEntries(Object.entries(given).filter(isGiven));
  const parsed = v.safeParse(schema, body, { abortEarly: true });
  if (parsed.success) {
    const output = parsed.output as BodyOf<K>;
    noteUnknown(c, route, "body", droppedWithin(body, output));
    return output;
  }
  const [issue] = parsed.issues;
  const field = issue.path?.[0]?.key;
  const code = typeof field === "string" && Object.hasOwn(codes, field) ? codes[field] : undefined;
  const where = v.getDotPath(issue);
  const why = issue.received === "undefined" ? `${where} is missing` : `${where}: ${issue.message}`;
  throw new HttpError(400, code ?? "invalid_body", where ? why : issue.message);
}

/** Makes a prompt of a text and of pictures and files. The text may be blank only if there are others. */
export function promptFrom(text: string, content: TurnBody["content"] = [], missing: ErrorCode): PromptInput {
  const isBlank = text.trim() === "";
  const prompt = promptOf([...(isBlank ? [] : [{ type: "text", text } as const]), ...content]);
  if (prompt.text.trim() === "" && !prompt.content) throw new HttpError(400, missing, "the prompt is blank");
  return prompt;
}

/** For a route without a body. If the caller sends one, it must be a JSON object, and every field of it counts as unknown. */
export async function readNoBody(c: Context<AppEnv>, route: RouteName): Promise<void> {
  noteUnknown(c, route, "body", Object.keys(await readJson(c)));
}

/** Refuses a body that is not declared as JSON, or is compressed: a page of another origin may send other types without a preflight. */
export async function refuseForeignBody(c: Context<AppEnv>): Promise<void> {
  const type = c.req.header("content-type");
  if (type === undefined && (await isEmpty(c))) return;
  if (!/^application\/json[ \t]*(;|$)/i.test(type ?? ""))
    throw new HttpError(415, "json_required", "the body must be application/json");
  if (/^(identity)?$/i.test(c.req.header("content-encoding") ?? "")) return;
  throw new HttpError(415, "json_required", "the body must be sent without a Content-Encoding");
}

/** Reads the body as text, once. Throws `body_cut_short` if the peer has gone. */
export async function readText(c: Context<AppEnv>, limit: number = LIMITS.bodyBytes): Promise<string> {
  try {
    const text = c.get("body") ?? textOf(await readWhole(c, limit));
    c.set("body", text);
    return text;
  } catch (cause) {
    if (isHttpError(cause) || !c.env?.incoming?.destroyed) throw cause;
    throw new HttpError(400, "body_cut_short", "the body broke off", { cause });
  }
}

// --- internal ---

/** A body with more characters is worked on in several turns of the event loop. */
const LARGE = 512 * 1024;
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];

/** Whether a request has no body. Only HTTP/1 requires headers that say so; otherwise the body is read. */
async function isEmpty(c: Context<AppEnv>): Promise<boolean> {
  const length = c.req.header("content-length");
  if (length !== undefined) return /^0+$/.test(length);
  if (c.env?.incoming?.httpVersionMajor === 1) return c.req.header("transfer-encoding") === undefined;
  return (await readText(c)) === "";
}

async function readJson(c: Context<AppEnv>): Promise<Record<string, unknown>> {
  const text = await readText(c);
  if (text === "") return {};
  if (holdsMoreThan(LIMITS.bodyValues, text)) {
    throw new HttpError(413, "body_too_large", `a body may hold at most ${LIMITS.bodyValues} values`);
  }
  if (text.length > LARGE) await setImmediate();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new HttpError(400, "invalid_json", "the body is not valid JSON", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new HttpError(400, "expected_json_object", "the body must be a JSON object");
  }
  if (deeperThan(value, LIMITS.bodyDepth)) throw new HttpError(400, "invalid_json", "the body is nested too deeply");
  // Lets other requests run before the next step on a large body.
  if (text.length > LARGE) await setImmediate();
  return value as Record<string, unknown>;
}

/** The paths of nested fields that the schema dropped from a body, such as `input.0.role`. */
function droppedWithin(given: object, taken: object): string[] {
  return Object.entries(taken).flatMap(([name, value]) => {
    const before = (given as Record<string, unknown>)[name];
    if (before === value || !isContainer(before) || !isContainer(value)) return [];
    // After the schema dropped items of a list, the items before and after no longer correspond.
    if (Array.isArray(before) && before.length !== Object.keys(value).length) return [];
    const here = Object.keys(before).filter((key) => !Object.hasOwn(value, key));
    return [...here, ...droppedWithin(before, value)].map((path) => `${name}.${path}`);
  });
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8. Refuses invalid bytes, which would otherwise silently become other characters. */
function textOf(bytes: ArrayBuffer | Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new HttpError(400, "invalid_json", "the body is not UTF-8", { cause });
  }
}

async function readWhole(c: Context<AppEnv>, limit: number): Promise<ArrayBuffer | Uint8Array> {
  const declared = c.req.header("content-length");
  if (declared !== undefined) {
    const length = Number(declared);
    if (length > limit) throw tooLarge(limit);
    return arrived(c.env?.incoming, length) ?? c.req.arrayBuffer();
  }
  const body = c.req.raw.body;
  if (!body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The body if all of it came with the headers, else null. This is faster: to open and close a stream takes longer than to read a short body. */
function arrived(incoming: IncomingMessage | undefined, length: number): Buffer | null {
  return incoming?.complete && length > 0 && incoming.readableLength === length ? incoming.read() : null;
}

function tooLarge(limit: number): HttpError {
  return new HttpError(413, "body_too_large", `a body may have at most ${limit} bytes`);
}

/** Whether JSON text has more values than this, by its commas. Checked before parsing, because a million small values take long to parse. */
function holdsMoreThan(values: number, text: string): boolean {
  let left = values;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) inString = !inString;
    else if (inString && code === BACKSLASH) at += 1;
    else if (!inString && code === COMMA) left -= 1;
    if (left <= 0) return true;
  }
  return false;
}

function deeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((member) => deeperThan(member, depth - 1));
}
