/** Reads, hashes, encodes and writes files piece by piece, because each of these blocks the process for a large file. */
import { createHash } from "node:crypto";
import { closeSync, readSync, rmSync, writeSync } from "node:fs";
import type { Steps } from "../pacer.js";

export const PIECE_BYTES = 1024 * 1024;

/** Reads a file, which may grow meanwhile; null once it exceeds `maxBytes`. */
export function* readingAtMost(
  fd: number,
  expected: number,
  maxBytes: number,
): Steps<{ readonly bytes: Buffer; readonly sha: string } | null> {
  const hash = createHash("sha256");
  let buffer = Buffer.allocUnsafe(Math.min(expected, maxBytes) + 1);
  let length = 0;
  for (;;) {
    const read = readSync(fd, buffer, length, Math.min(buffer.length - length, PIECE_BYTES), null);
    hash.update(buffer.subarray(length, length + read));
    length += read;
    if (length > maxBytes) return null;
    if (read === 0) return { bytes: buffer.subarray(0, length), sha: hash.digest("hex") };
    if (length === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length + 4096)]);
    if (read === PIECE_BYTES) yield;
  }
}

/** Writes all of it at the file's current position. */
export function* writingAll(fd: number, bytes: Buffer): Steps<void> {
  for (let at = 0; at < bytes.length; ) {
    at += writeSync(fd, bytes, at, Math.min(bytes.length - at, PIECE_BYTES));
    yield;
  }
}

/** Writes a file that was just created, and closes it. Nothing of it stays when that fails. */
export function* fillingNew(path: string, fd: number, pieces: Iterable<Buffer>): Steps<void> {
  let written = false;
  try {
    for (const piece of pieces) yield* writingAll(fd, piece);
    written = true;
  } finally {
    closeSync(fd);
    if (!written) rmSync(path, { force: true });
  }
}

/** Makes the text of `JSON.stringify(value, null, indent)` for plain data step by step: a turn may touch 100,000 files. */
export function* stringifying(value: unknown, indent = 0, depth = 0): Steps<string> {
  const newline = (by: number) => (indent === 0 ? "" : `\n${" ".repeat(indent * by)}`);
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) {
    return JSON.stringify(value, null, indent).replaceAll("\n", newline(depth));
  }
  const isList = Array.isArray(value);
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const text = yield* stringifying(member, indent, depth + 1);
    members.push(isList ? text : `${JSON.stringify(key)}:${indent === 0 ? "" : " "}${text}`);
    if (members.length % STRETCH === 0) yield;
  }
  const [open, close] = isList ? "[]" : "{}";
  if (members.length === 0) return `${open}${close}`;
  return `${open}${newline(depth + 1)}${members.join(`,${newline(depth + 1)}`)}${newline(depth)}${close}`;
}

// --- internal ---

/** How many members to encode between two looks at the clock. */
const STRETCH = 500;
/** Values nested deeper are small, and encoded at once. */
const MAX_DEPTH = 2;
