import { ConnectionError, ErrorCode, type RpcErrorObject } from "./errors.js";

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

const LONGEST_MESSAGE = 500;

/**
 * JSON-RPC asks for a concise single sentence, and what a handler quotes of its input may be anything: its first line.
 */
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
