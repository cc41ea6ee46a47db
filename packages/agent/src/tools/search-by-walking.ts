/** Searching without ripgrep: slower, in the same order and with the same answers for ordinary patterns. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { readCanonical } from "../files/canonical-file.js";
import { looksBinary } from "../files/text.js";
import { matchingLines } from "./bounded-regex.js";
import { MAX_OUTPUT } from "./cap-output.js";
import { fileFilter } from "./list-files.js";
import type { Match, SearchRequest } from "./search-request.js";
import { walk } from "./walk.js";

const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Of one file, and of one line: more than a result can hold. */
const ROOM = { chars: MAX_OUTPUT, line: 1000 };

export async function* searchByWalking(request: SearchRequest): AsyncGenerator<Match> {
  const { root, signal } = request;
  if ((await stat(root)).isFile()) {
    yield* inFile("", root, request);
    return;
  }
  const wanted = fileFilter(request.glob);
  for await (const path of walk(root, signal)) {
    if (wanted(path)) yield* inFile(path, join(root, path), request);
  }
}

// --- internal ---

async function* inFile(path: string, file: string, request: SearchRequest): AsyncGenerator<Match> {
  // Links, devices, unreadable and very large files are passed over, as ripgrep passes over what it cannot read.
  const bytes = await readCanonical(file, MAX_FILE_BYTES).catch(() => null);
  if (bytes === null || looksBinary(bytes)) return;
  const flags = request.ignoreCase ? "i" : "";
  const found = await matchingLines(new Uint8Array(bytes), request.pattern, flags, ROOM, request.signal);
  for (const { line, text } of found) yield { path, line, text };
}
