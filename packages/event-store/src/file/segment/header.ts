import { crc32 } from "node:zlib";
import { hex8 } from "../../backend/line.js";
import { StoreError } from "../../errors.js";
import { orElse } from "../../or-else.js";

/** The major version of the segment format. A reader refuses a newer major instead of guessing. */
const MAJOR = 1;

/**
 * The first line of a segment. `prev` names the segment before it and how many of its bytes are valid, so that later writes of a
 * superseded writer are ignored. `birth` holds the facts of the session that no record says; headers of version 0.1 have none.
 */
export interface SegmentHeader {
  readonly fence: number;
  /**
   * How often this writer had rewritten records after a failed sync when it began the segment. A segment that it began before the
   * last rewrite is not part of the log unless a later segment names it. Left out while 0.
   */
  readonly rewrites?: number;
  readonly prev: { readonly name: string; readonly bytes: number } | null;
  readonly birth?: object | undefined;
}

const NAME = /^event-(\d{6,16})-[0-9a-f]{8}\.ndjson$/;
const ZEROS = "00000000";
const CHECK_TAIL = 10;

/** `event-NNNNNN-<8 hex>.ndjson`, NNNNNN the number of the first record inside. */
export function segmentName(first: number, random: string): string {
  return `event-${String(first).padStart(6, "0")}-${random}.ndjson`;
}

/** The first number a segment of this name holds; null for any other file. */
export function segmentFirst(name: string): number | null {
  const digits = NAME.exec(name)?.[1];
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : null;
}

/** The header line, with its own checksum in the last key. */
export function formatHeader(header: SegmentHeader): string {
  const { fence, rewrites, prev, birth } = header;
  // Version 0.1 takes a header without `counts` for a damaged one.
  const fields = { segment: MAJOR, fence, rewrites: rewrites || undefined, prev, counts: {}, birth };
  const head = JSON.stringify(fields).slice(0, -1);
  const line = `${head},"check":"${ZEROS}"}`;
  return `${line.slice(0, -CHECK_TAIL)}${hex8(crc32(line))}"}`;
}

/** True when the checksum of a header line holds. */
export function isSoundHeader(line: string): boolean {
  if (!line.startsWith('{"segment":')) return false;
  const zeroed = `${line.slice(0, -CHECK_TAIL)}${ZEROS}"}`;
  return line.slice(-CHECK_TAIL) === `${hex8(crc32(zeroed))}"}`;
}

/** Reads a segment's first line. Null when it is damaged: the records after it can still be read. Throws `unsupported_format`. */
export function parseHeader(line: string): SegmentHeader | null {
  const isSound = isSoundHeader(line);
  const header = parseObject(line);
  const major = header?.["segment"];
  // A damaged digit must not look like a newer release, so believe a newer major only with a sound checksum or without the key `check`.
  if (Number.isSafeInteger(major) && Number(major) > MAJOR && (isSound || !("check" in header!))) {
    throw new StoreError("unsupported_format", `segment format ${major} is newer than this release reads (${MAJOR})`);
  }
  return isSound && isHeader(header) ? header : null;
}

// --- internal ---

function isHeader(value: unknown): value is SegmentHeader {
  const { fence, rewrites = 0, prev, birth = {} } = (value ?? {}) as Partial<SegmentHeader>;
  if (typeof birth !== "object" || birth === null || Array.isArray(birth)) return false;
  if (prev === undefined || (prev !== null && typeof prev.name !== "string")) return false;
  return [fence, rewrites, prev?.bytes ?? 0].every(isCount);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function parseObject(text: string): Record<string, unknown> | null {
  const value: unknown = orElse(() => JSON.parse(text), null);
  return typeof value === "object" ? (value as Record<string, unknown> | null) : null;
}
