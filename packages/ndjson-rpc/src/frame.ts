/** Defines the JSON-RPC messages, parses them from lines and encodes them as lines. */
import { ConnectionError, ErrorCode, type RpcErrorObject } from "./errors.js";

/** A JSON-RPC id as `JSON.parse` reads it. A frame keeps the exact text beside it, since parsing rounds numbers. */
export type RequestId = string | number | null;

export interface RequestFrame {
  readonly kind: "request";
  readonly id: RequestId;
  /** The id exactly as the peer wrote it, to be sent back in the answer. */
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

/** A line that is not a valid message, with the error to send for it. */
export interface InvalidFrame {
  readonly kind: "invalid";
  readonly idText: string;
  readonly code: number;
  readonly message: string;
}

export type Frame = RequestFrame | NotificationFrame | ResponseFrame | InvalidFrame;

/**
 * Parses one line into a frame. Never throws: for a line that is not a JSON-RPC message it returns the error to send.
 *
 * @param mayHoldProto - The result of {@link mayHoldProtoKey} for the line, or for a text that contains the line.
 */
export function readFrame(line: string, maxDepth: number, mayHoldProto: boolean): Frame {
  // This check comes before the parse, where megabytes of "[" would cost a hundred times their size in parser state.
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

/** Whether the text can hold a key `__proto__`, spelled plainly or with escaped letters. */
export function mayHoldProtoKey(text: string): boolean {
  return text.includes("__proto__") || (text.includes("\\") && ESCAPED_LETTER.test(text));
}

/** The error frame for a line that could not be read. */
export function parseError(message: string): InvalidFrame {
  return { kind: "invalid", idText: "null", code: ErrorCode.parseError, message };
}

// Frames are joined from parts rather than stringified whole, so that the id is sent back exactly as the peer wrote it.

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

/**
 * @param idText - The id's JSON text.
 *
 * @example
 * encodeError("7", { code: -32601, message: "Method not found" });
 */
export function encodeError(idText: string, error: RpcErrorObject): string {
  const data = encodeValue(error.data);
  const tail = data === undefined ? "" : `,"data":${data}`;
  const code = Number.isInteger(error.code) ? error.code : ErrorCode.internalError;
  return `{"jsonrpc":"2.0","id":${idText},"error":{"code":${code},"message":${JSON.stringify(sentence(error.message))}${tail}}}`;
}

/** At most `length` UTF-16 units of a text's beginning. It is not cut inside a character, because strict parsers refuse half of one. */
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
    // The id in a reply names one of our requests. Sending it back would look like a reply to one of the peer's.
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

/** Recognises the beginning that nearly every client writes, without a scan of the line. */
function startsWithId(line: string, idText: string): boolean {
  // V8 copies slices of up to 12 characters, and comparing copies takes a third of the time of `startsWith`.
  if (line.slice(0, 11) !== '{"jsonrpc":' || line.slice(11, 22) !== '"2.0","id":') return false;
  const end = 22 + idText.length;
  const next = line.charCodeAt(end);
  return (next === 0x2c || next === 0x7d) && line.slice(22, end) === idText;
}

/** Removes own `__proto__` keys before handlers see them: a handler that copies such an object by assignment would set its prototype. */
function dropProtoKeys(value: object): void {
  if (Object.hasOwn(value, "__proto__")) Reflect.deleteProperty(value, "__proto__");
  for (const child of Object.values(value)) {
    if (typeof child === "object" && child !== null) dropProtoKeys(child);
  }
}

const LONGEST_MESSAGE = 500;

/** The first line of a handler's message, since JSON-RPC asks for a concise single sentence. */
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

/** The JSON text of a value; undefined for a value that JSON leaves out. Throws for a value that JSON cannot hold. */
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

/** Whether objects and arrays nest deeper than `maxDepth`. Takes linear time, and is safe for text that is not JSON. */
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

/** The source text of a numeric top-level `id`, since `JSON.parse` rounds numbers. The last of duplicate keys counts, as there. */
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

/** Whether a string literal spells `id`, plainly or with escapes. */
function isId(literal: string): boolean {
  return (
    literal === '"id"' || (literal.length <= LONGEST_ID && literal.includes("\\u") && JSON.parse(literal) === "id")
  );
}

/** The deepest nesting that the length allows: an object level takes `{"":` and `}`, an array level `[` and `]`. Enough for most frames. */
function deepestPossible(text: string): number {
  const array = text.indexOf("[");
  return array === -1 ? text.length / 5 : array / 8 + (text.length - array) / 2;
}

/** `room` minus the number of occurrences of `character`; negative if there are more of them than `room`. */
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
    // When quotes stand close together, one search for each of them costs more than a walk.
    for (const stop = dense ? i + 32 : i; i < stop; ) {
      const code = text.charCodeAt(i);
      if (code === QUOTE) return i;
      i += code === BACKSLASH ? 2 : 1;
    }
  }
  return text.length;
}

/** Whether an odd number of backslashes stands directly before `index`, counting back to `from` at most. */
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
