import { ErrorCode } from "./error-codes.js";
import type { Frame, InvalidFrame, RequestId } from "./frame.js";
import { exceedsDepth, numericIdText } from "./json-scan.js";

/** Reads one line as a frame. Never throws: what is no JSON-RPC message comes back as the error that answers it. */
export function readFrame(line: string, maxDepth: number): Frame {
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
  if (mayHoldProtoKey(line)) dropProtoKeys(value);
  return classify(value, line);
}

/** The frame that answers a line without a usable message in it. */
export function parseError(message: string): InvalidFrame {
  return { kind: "invalid", idText: "null", code: ErrorCode.parseError, message };
}

// --- internal ---

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
  return startsWithPlainId(line, id) ? String(id) : (numericIdText(line) ?? String(id));
}

/** Recognises, without a scan of the whole line, what nearly every client writes. */
function startsWithPlainId(line: string, id: number): boolean {
  if (!line.startsWith(USUAL_START)) return false;
  let value = 0;
  for (let i = USUAL_START.length; i < USUAL_START.length + MAX_PLAIN_DIGITS; i++) {
    const code = line.charCodeAt(i);
    if (code >= 0x30 && code <= 0x39) value = value * 10 + code - 0x30;
    else return (code === 0x2c || code === 0x7d) && value === id;
  }
  return false;
}

const USUAL_START = '{"jsonrpc":"2.0","id":';
const MAX_PLAIN_DIGITS = 15;

/** As it is, or with one of its letters escaped; a search is faster on short lines, a regular expression on long ones. */
function mayHoldProtoKey(line: string): boolean {
  if (line.includes("__proto__")) return true;
  return line.length < 4096 ? line.includes("\\u00") : ESCAPED_LETTER.test(line);
}

const ESCAPED_LETTER = /\\u00[5-7]/;

/** An own `__proto__` key is harmless until somebody copies the object by assignment: it goes before handlers see it. */
function dropProtoKeys(value: object): void {
  if (Object.hasOwn(value, "__proto__")) Reflect.deleteProperty(value, "__proto__");
  for (const child of Object.values(value)) {
    if (typeof child === "object" && child !== null) dropProtoKeys(child);
  }
}
