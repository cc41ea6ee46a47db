/** A request's JSON body: bounded, of the right type, and what the route's schema says. */
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
 * `codes`: errors of a missing or malformed field, else `invalid_body`. No body is `{}`; null is the same as leaving a field out that may
 * be left out.
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

/** The text of a prompt, then its pictures and files. A text may be blank only beside these. */
export function promptFrom(text: string, content: TurnBody["content"] = [], missing: ErrorCode): PromptInput {
  const isBlank = text.trim() === "";
  const prompt = promptOf([...(isBlank ? [] : [{ type: "text", text } as const]), ...content]);
  if (prompt.text.trim() === "" && !prompt.content) throw new HttpError(400, missing, "the prompt is blank");
  return prompt;
}

/** For a route that takes no body: one that is sent all the same is a JSON object, of which the route knows no name. */
export async function readNoBody(c: Context<AppEnv>, route: RouteName): Promise<void> {
  noteUnknown(c, route, "body", Object.keys(await readJson(c)));
}

/** Refuses a body that is not declared as JSON, or is packed: a page of another origin can send any other type without asking. */
export async function refuseForeignBody(c: Context<AppEnv>): Promise<void> {
  const type = c.req.header("content-type");
  if (type === undefined && (await isEmpty(c))) return;
  if (!/^application\/json[ \t]*(;|$)/i.test(type ?? ""))
    throw new HttpError(415, "json_required", "the body must be application/json");
  if (/^(identity)?$/i.test(c.req.header("content-encoding") ?? "")) return;
  throw new HttpError(415, "json_required", "the body must be sent without a Content-Encoding");
}

/** A body that breaks off means that the peer has gone; no answer can reach it. */
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

/** Characters of a body that is worked on in several turns of the event loop. */
const LARGE = 512 * 1024;
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];

/** Only a request of HTTP/1 has to say by its headers whether it has a body. */
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
  // Other requests have their turn before a large body is worked on.
  if (text.length > LARGE) await setImmediate();
  return value as Record<string, unknown>;
}

/** The names inside the fields of a body that its schema dropped, each with its path: `input.0.role`. */
function droppedWithin(given: object, taken: object): string[] {
  return Object.entries(taken).flatMap(([name, value]) => {
    const before = (given as Record<string, unknown>)[name];
    if (before === value || !isContainer(before) || !isContainer(value)) return [];
    // A list of which items were passed over cannot be held against what is left of it.
    if (Array.isArray(before) && before.length !== Object.keys(value).length) return [];
    const here = Object.keys(before).filter((key) => !Object.hasOwn(value, key));
    return [...here, ...droppedWithin(before, value)].map((path) => `${name}.${path}`);
  });
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** A byte that is not UTF-8 would be another character from here on, and nobody would learn of it. */
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

/** A short body that came with its headers, taken at once: a stream takes longer to begin and to end than to read. Null for any other. */
function arrived(incoming: IncomingMessage | undefined, length: number): Buffer | null {
  return incoming?.complete && length > 0 && incoming.readableLength === length ? incoming.read() : null;
}

function tooLarge(limit: number): HttpError {
  return new HttpError(413, "body_too_large", `a body may have at most ${limit} bytes`);
}

/** Whether JSON text has more values than that, by the commas between them: a million small ones take long to parse. */
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
