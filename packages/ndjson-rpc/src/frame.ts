/** A JSON-RPC message as a line: what one may say, how it is read, and how it is written. */
import { ConnectionError, ErrorCode, type RpcErrorObject } from "./errors.js";

/** A JSON-RPC id as `JSON.parse` reads it; its exact text travels beside it. */
export type RequestId = string | number | null;

export interface RequestFrame {
  readonly kind: "request";
  readonly id: RequestId;
  /** The id exactly as the peer wrote it, ready to be echoed. */
  readonly idText: string;
  readonly method: string;
  readonly params: unknown;
}

export interface NotificationFrame {
  readonly kind: "notification";
  readonly method: string;
  readonly params: unknown;
}

export interface ResponseFrame {
  readonly kind: "response";
  readonly id: RequestId;
  readonly result: unknown;
  /** Absent when the call succeeded. */
  readonly error?: unknown;
}

/** A line that is none of the others, with the error that answers it. */
export interface InvalidFrame {
  readonly kind: "invalid";
  readonly idText: string;
  readonly code: number;
  readonly message: string;
}

export type Frame = RequestFrame | NotificationFrame | ResponseFrame | InvalidFrame;

/**
 * Reads one line as a frame. Never throws: a line that is not a JSON-RPC message comes back as the error that answers it.
 *
 * @param mayHoldProto - What {@link mayHoldProtoKey} says of the line, or of a text that the line is a part of.
 */
export function readFrame(line: string, maxDepth: number, mayHoldProto: boolean): Frame {
  // Before the parse: megabytes of "[" would cost a hundred times their size in parser state.
  if (exceedsDepth(line, maxDepth)) return parseError(`Parse error: nested deeper than ${maxDepth} levels`);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return parseError("Parse error: the line is not valid JSON");
  }
  if (typeof value !== "object" || value === null) return invalidRequest("null", "a message is an object");
  if (Array.isArray(value)) return invalidRequest("null", "batches are not supported");
  if (mayHoldProto) dropProtoKeys(value);
  return classify(value, line);
}

/** Whether a key `__proto__` can be in the text: as it is, or with one of its letters escaped. */
export function mayHoldProtoKey(text: string): boolean {
  return text.includes("__proto__") || (text.includes("\\") && ESCAPED_LETTER.test(text));
}

/** The frame that answers a line without a usable message in it. */
export function parseError(message: string): InvalidFrame {
  return { kind: "invalid", idText: "null", code: ErrorCode.parseError, message };
}

// Frames are joined from parts rather than stringified whole: the id goes out exactly as it came in.

export function encodeRequest(id: number, method: string, params: unknown): string {
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${encodeParams(params)}}`;
}

export function encodeNotification(method: string, params: unknown): string {
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${encodeParams(params)}}`;
}

/** @param idText - The id's JSON text. */
export function encodeResult(idText: string, result: unknown): string {
  return `{"jsonrpc":"2.0","id":${idText},"result":${encodeValue(result) ?? "null"}}`;
}

/** @param idText - The id's JSON text. */
export function encodeError(idText: string, error: RpcErrorObject): string {
  const data = encodeValue(error.data);
  const tail = data === undefined ? "" : `,"data":${data}`;
  const code = Number.isInteger(error.code) ? error.code : ErrorCode.internalError;
  return `{"jsonrpc":"2.0","id":${idText},"error":{"code":${code},"message":${JSON.stringify(sentence(error.message))}${tail}}}`;
}

/** At most so many UTF-16 units of a text's beginning, cut between characters: half of one makes a frame that strict parsers refuse. */
export function startOf(text: string, length: number): string {
  const end = Math.max(0, Math.min(length, text.length));
  const last = text.charCodeAt(end - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? end - 1 : end);
}

// --- internal ---

const ESCAPED_LETTER = /\\u00[5-7]/;

interface Envelope {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

function classify(message: Envelope, line: string): Frame {
  const { id, method } = message;
  const isReply = message.result !== undefined || message.error !== undefined;
  if (id !== undefined && id !== null && typeof id !== "string" && typeof id !== "number") {
    return invalidRequest("null", "id must be a string, a number or null");
  }
  if (message.jsonrpc !== "2.0") {
    // An id in a reply names one of our requests: to send it back would look like a reply to one of theirs.
    return invalidRequest(isReply ? "null" : idTextOf(id, line), 'jsonrpc must be "2.0"');
  }
  if (method === undefined && isReply && id !== undefined) {
    return message.error === undefined || message.error === null
      ? { kind: "response", id, result: message.result }
      : { kind: "response", id, result: undefined, error: message.error };
  }
  if (typeof method !== "string") return invalidRequest(idTextOf(id, line), "method must be a string");
  if (isReply) return invalidRequest(idTextOf(id, line), "a message has either a method or a result");
  if (id === undefined) return { kind: "notification", method, params: message.params };
  return { kind: "request", id, idText: idTextOf(id, line), method, params: message.params };
}

function invalidRequest(idText: string, reason: string): InvalidFrame {
  return { kind: "invalid", idText, code: ErrorCode.invalidRequest, message: `Invalid request: ${reason}` };
}

function idTextOf(id: RequestId | undefined, line: string): string {
  if (typeof id === "string") return JSON.stringify(id);
  if (typeof id !== "number") return "null";
  const usual = String(id);
  return startsWithId(line, usual) ? usual : (numericIdText(line) ?? usual);
}

/** Recognises, without a scan of the line, what nearly every client writes. */
function startsWithId(line: string, idText: string): boolean {
  // Slices of up to 12 characters are copies, and comparing those takes a third of the time of `startsWith`.
  if (line.slice(0, 11) !== '{"jsonrpc":' || line.slice(11, 22) !== '"2.0","id":') return false;
  const end = 22 + idText.length;
  const next = line.charCodeAt(end);
  return (next === 0x2c || next === 0x7d) && line.slice(22, end) === idText;
}

/** An own `__proto__` key is harmless until somebody copies the object by assignment: it goes before handlers see it. */
function dropProtoKeys(value: object): void {
  if (Object.hasOwn(value, "__proto__")) Reflect.deleteProperty(value, "__proto__");
  for (const child of Object.values(value)) {
    if (typeof child === "object" && child !== null) dropProtoKeys(child);
  }
}

const LONGEST_MESSAGE = 500;

/** A concise single sentence, as JSON-RPC asks: the first line of what a handler says. */
function sentence(message: string): string {
  return (
    startOf(String(message), LONGEST_MESSAGE)
      .trim()
      .split(/[\r\n]/, 1)[0] || "Error"
  );
}

function encodeParams(params: unknown): string {
  const text = encodeValue(params);
  return text === undefined ? "" : `,"params":${text}`;
}

/** Undefined for what JSON leaves out; throws for what JSON cannot hold. */
function encodeValue(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new ConnectionError("unserializable", "The value cannot be written as JSON", { cause });
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether objects and arrays nest deeper than `maxDepth`; linear, and safe on text that is not JSON. */
function exceedsDepth(text: string, maxDepth: number): boolean {
  if (deepestPossible(text) <= maxDepth || roomAfter(text, "[", roomAfter(text, "{", maxDepth)) >= 0) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i);
    // `{` and `[`, then `}` and `]`, differ by one bit.
    else if ((code | 0x20) === 0x7b) {
      if (++depth > maxDepth) return true;
    } else if ((code | 0x20) === 0x7d) depth--;
  }
  return false;
}

/** The source text of a numeric top-level `id`, since `JSON.parse` rounds: the last of several, as there. */
function numericIdText(text: string): string | undefined {
  let depth = 0;
  let found: string | undefined;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      const end = endOfString(text, i);
      if (depth === 1 && isId(text.slice(i, end + 1))) {
        const colon = skipBlank(text, end + 1);
        if (text.charCodeAt(colon) === 0x3a) {
          NUMBER.lastIndex = skipBlank(text, colon + 1);
          found = NUMBER.exec(text)?.[0];
        }
      }
      i = end;
    } else if ((code | 0x20) === 0x7b) depth++;
    else if ((code | 0x20) === 0x7d) depth--;
  }
  return found;
}

const NUMBER = /-?\d[\d.eE+-]*/y;
const LONGEST_ID = '"\\u0069\\u0064"'.length;

/** Whether a string literal says `id`, which it can also do with escapes. */
function isId(literal: string): boolean {
  return (
    literal === '"id"' || (literal.length <= LONGEST_ID && literal.includes("\\u") && JSON.parse(literal) === "id")
  );
}

/** What the length allows: an object level takes `{"":` and `}`, an array level `[` and `]`. Clears most frames. */
function deepestPossible(text: string): number {
  const array = text.indexOf("[");
  return array === -1 ? text.length / 5 : array / 8 + (text.length - array) / 2;
}

/** What is left of `room` after all occurrences of `character`; negative as soon as there are more. */
function roomAfter(text: string, character: string, room: number): number {
  let left = room;
  for (let i = text.indexOf(character); i !== -1 && left >= 0; i = text.indexOf(character, i + 1)) left--;
  return left;
}

/** Index of the quote that closes the string opened at `open`, or the text's length. */
function endOfString(text: string, open: number): number {
  let i = open + 1;
  for (let quote = text.indexOf('"', i); quote !== -1; quote = text.indexOf('"', i)) {
    if (!isEscaped(text, quote, i)) return quote;
    const dense = quote - i < 16;
    i = quote + 1;
    // Where quotes stand close together a search for each costs more than a walk.
    for (const stop = dense ? i + 32 : i; i < stop; ) {
      const code = text.charCodeAt(i);
      if (code === QUOTE) return i;
      i += code === BACKSLASH ? 2 : 1;
    }
  }
  return text.length;
}

/** Whether an odd number of backslashes precedes `index`; the one at `from`, or before it, escapes nothing beyond it. */
function isEscaped(text: string, index: number, from: number): boolean {
  let i = index;
  while (i > from && text.charCodeAt(i - 1) === BACKSLASH) i--;
  return (index - i) % 2 === 1;
}

function skipBlank(text: string, from: number): number {
  let i = from;
  while (text.charCodeAt(i) <= 0x20) i++;
  return i;
}
