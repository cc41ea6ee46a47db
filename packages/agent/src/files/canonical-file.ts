/**
 * Reads and writes at a canonical path: one in which no part is a symbolic link. If a part becomes a link between the check and the
 * call, the call fails. On Linux this is exact, because every step is relative to an open directory (`/proc/self/fd/N/name` acts like
 * `openat`). Elsewhere the location is checked again after the file was opened.
 */
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Workspace } from "@chimera/acp-schema/agent";
import { AgentError } from "../errors.js";
import type { ToolImage } from "../tool.js";
import { decodeText, encodeText, encodingOf, wideMark } from "./encoding.js";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;
const READ = O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0);
const SMALLEST_CHUNK = 65_536;
const LARGEST_CHUNK = 1 << 20;
const BY_DESCRIPTOR = process.platform === "linux";

/** Size of the largest text file that is read whole. */
export const MAX_TEXT_BYTES = 32 * 1024 * 1024;

/** Reads the first bytes of a file, which show its type. */
export async function readHead(path: string, bytes: number): Promise<{ head: Buffer; size: number }> {
  return withFile(path, async (file, stats) => {
    const buffer = Buffer.alloc(bytes);
    const { bytesRead } = await file.read(buffer, 0, bytes, 0);
    return { head: buffer.subarray(0, bytesRead), size: stats.size };
  });
}

/** Reads the whole file; throws `file_too_large` beyond `maxBytes`. Counts while reading, because some files report no size. */
export async function readCanonical(path: string, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await readChunks(path, maxBytes, (chunk) => chunks.push(chunk));
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

/** The same as text. Decodes while reading, because decoding a large file at once would block the process. */
export async function readCanonicalText(path: string, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const pieces: string[] = [];
  try {
    await readChunks(path, maxBytes, (chunk) => pieces.push(decodeChunk(decoder, chunk)));
    pieces.push(decoder.decode());
    return pieces.join("");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return readOtherText(path, maxBytes);
  }
}

/** Replaces the file atomically and keeps its mode and owner. Creates missing directories. */
export async function writeCanonical(path: string, text: string): Promise<void> {
  const { draftName, sweepDrafts } = await import("@chimera/snapshot-store/files");
  await inDirectory(dirname(path), async (at) => {
    const target = at(basename(path));
    const present = await statIfPresent(target);
    if (present?.isSymbolicLink()) throw movedAway(path);
    if (present && !present.isFile()) throw new AgentError("not_a_file", `${path} is ${kindOf(present)}, not a file.`);
    const pieces = [...(await encoded(path, text, present !== null))];
    const draft = at(draftName());
    try {
      const mode = present ? present.mode & 0o777 : 0o666;
      await writePieces(await open(draft, O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0), mode), pieces, present);
      await rename(draft, target);
    } catch (error) {
      await unlink(draft).catch(() => {});
      // A file can be writable although its directory is not, or although it is a mount of its own: write it in place.
      if (present?.nlink !== 1 || !["EACCES", "EPERM", "EBUSY"].includes(codeOf(error))) throw error;
      await writePieces(await open(target, O_WRONLY | O_TRUNC | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0)), pieces);
    }
    if (isFirstIn(dirname(path))) await sweepDrafts(at);
  });
}

/** Removes a file; never follows a link. */
export async function removeCanonical(path: string): Promise<void> {
  await inDirectory(dirname(path), async (at) => {
    const target = at(basename(path));
    const present = await lstat(target);
    if (!present.isFile()) throw new AgentError("not_a_file", `${path} is not a regular file.`);
    await unlink(target);
  });
}

const PIECE = 1024 * 1024;

const SIGNATURES: readonly { readonly mimeType: ToolImage["mimeType"]; readonly at: number; readonly bytes: string }[] =
  [
    { mimeType: "image/png", at: 0, bytes: "\x89PNG\r\n\x1a\n" },
    { mimeType: "image/jpeg", at: 0, bytes: "\xff\xd8\xff" },
    { mimeType: "image/gif", at: 0, bytes: "GIF8" },
    { mimeType: "image/webp", at: 8, bytes: "WEBP" },
  ];

/** The type of a picture that models accept, recognised by its first bytes; null for any other file. */
export function imageType(head: Buffer): ToolImage["mimeType"] | null {
  const found = SIGNATURES.find(({ at, bytes }) => head.toString("latin1", at, at + bytes.length) === bytes);
  return found?.mimeType ?? null;
}

/** Whether the first bytes already show that this is not text. */
export function looksBinary(head: Buffer): boolean {
  return head.includes(0) && wideMark(head) === null;
}

/**
 * A workspace on the local disk, without an editor and without undo. `readText` and `writeText` take canonical paths and follow no
 * link, so a checked path cannot lead elsewhere.
 *
 * @example
 * const conversation = createConversation(agent, { workspace: localWorkspace(process.cwd()), settings });
 */
export function localWorkspace(cwd: string, directories: readonly string[] = []): Workspace {
  return {
    cwd,
    directories,
    readText: (path) => readCanonicalText(path, MAX_TEXT_BYTES),
    writeText: writeCanonical,
    willWrite: async () => {},
    willRun: async () => async () => [],
  };
}

// --- internal ---

/** Opens a regular file for reading and passes it to `use`. Never waits on a pipe and never reads a device. */
async function withFile<T>(path: string, use: (file: FileHandle, stats: Stats) => Promise<T>): Promise<T> {
  const file = await open(path, READ).catch((error: unknown) => {
    throw refusedLink(path, error);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new AgentError("not_a_file", `${path} is ${kindOf(stats)}, not a file.`);
    await verifyLocation(file, path);
    return await use(file, stats);
  } finally {
    await file.close();
  }
}

/** Throws a TypeError for bytes that are not UTF-8 text, as the decoder itself does. */
function decodeChunk(decoder: InstanceType<typeof TextDecoder>, chunk: Uint8Array): string {
  if (chunk.includes(0)) throw new TypeError("it holds a NUL byte");
  return decoder.decode(chunk, { stream: true });
}

/** Reads text in another encoding. Keeps a byte order mark, and refuses bytes that would change when written back. */
async function readOtherText(path: string, maxBytes: number): Promise<string> {
  const bytes = await readCanonical(path, maxBytes);
  const encoding = encodingOf(bytes);
  const text = encoding && decodeText(bytes, encoding);
  if (text === null) throw new AgentError("not_text", `${path} is a binary file.`);
  return text;
}

/** Encodes text for a file, in the encoding that the present file has. */
async function encoded(path: string, text: string, isPresent: boolean): Promise<Iterable<string | Buffer>> {
  const bytes = isPresent ? await readCanonical(path, MAX_TEXT_BYTES).catch(() => null) : null;
  const encoding = (bytes && encodingOf(bytes)) ?? "utf-8";
  return encoding === "utf-8" ? piecesOf(text) : [encodeText(text, encoding, path)];
}

/** Cuts the text into pieces, so that the process can do other work between encoding them. */
function* piecesOf(text: string): Generator<string> {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = Math.min(at + PIECE, text.length);
    // Do not cut between the two halves of a surrogate pair.
    if (/[\ud800-\udbff]/.test(text[end - 1] as string)) end += 1;
    yield text.slice(at, end);
  }
}

/** Whether this is the process's first write into the directory. Killed processes may have left drafts there. */
function isFirstIn(directory: string): boolean {
  if (swept.has(directory)) return false;
  if (swept.size >= REMEMBERED) swept.clear();
  swept.add(directory);
  return true;
}

/** Passes the content to `take` chunk by chunk. The receiver may keep each chunk. */
async function readChunks(path: string, maxBytes: number, take: (chunk: Buffer) => void): Promise<void> {
  await withFile(path, async (file, stats) => {
    let total = 0;
    // One byte more than the expected size, so that the end of the file shows without another chunk.
    let chunk = Buffer.allocUnsafe(Math.min(stats.size + 1, LARGEST_CHUNK));
    let filled = 0;
    while (true) {
      const { bytesRead } = await file.read(chunk, filled, chunk.length - filled, null);
      total += bytesRead;
      filled += bytesRead;
      if (total > maxBytes) throw new AgentError("file_too_large", `${path} is larger than ${maxBytes} bytes.`);
      if (bytesRead === 0 || filled === chunk.length) take(chunk.subarray(0, filled));
      if (bytesRead === 0) return;
      if (filled < chunk.length) continue;
      chunk = Buffer.allocUnsafe(Math.min(Math.max(stats.size + 1 - total, SMALLEST_CHUNK), LARGEST_CHUNK));
      filled = 0;
    }
  });
}

async function inDirectory<T>(directory: string, use: (at: (name: string) => string) => Promise<T>): Promise<T> {
  if (!BY_DESCRIPTOR) {
    await mkdir(directory, { recursive: true });
    if ((await realpath(directory)) !== directory) throw movedAway(directory);
    return use((name) => join(directory, name));
  }
  const handle = await openDirectory(directory);
  try {
    return await use((name) => `/proc/self/fd/${handle.fd}/${name}`);
  } finally {
    await handle.close();
  }
}

async function openDirectory(directory: string): Promise<FileHandle> {
  try {
    const handle = await open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    await verifyLocation(handle, directory).catch(async (error: unknown) => {
      await handle.close();
      throw error;
    });
    return handle;
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || directory === dirname(directory)) throw refusedLink(directory, error);
  }
  const parent = await openDirectory(dirname(directory));
  try {
    const here = `/proc/self/fd/${parent.fd}/${basename(directory)}`;
    await mkdir(here).catch((error: unknown) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
    return await open(here, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: unknown) => {
      throw refusedLink(directory, error);
    });
  } finally {
    await parent.close();
  }
}

async function verifyLocation(handle: FileHandle, path: string): Promise<void> {
  const actual = BY_DESCRIPTOR ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(path);
  if (actual !== path) throw movedAway(path);
}

/** Writes all pieces to the disk and closes the file. `like` is the file that it replaces, whose owner and mode it gets. */
async function writePieces(
  file: FileHandle,
  pieces: readonly (string | Buffer)[],
  like: Stats | null = null,
): Promise<void> {
  try {
    for (const piece of pieces) await file.writeFile(piece);
    if (like) {
      // Only root may give a file to another owner. For everybody else the owner is right already, or cannot be kept.
      await file.chown(like.uid, like.gid).catch(() => {});
      await file.chmod(like.mode & 0o7777);
    }
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function statIfPresent(path: string): Promise<Stats | null> {
  return lstat(path).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
}

function refusedLink(path: string, error: unknown): unknown {
  const code = codeOf(error);
  if (code === "ELOOP") return movedAway(path);
  // A pipe without a reader, or a socket: both exist and neither is a file.
  return code === "ENXIO" ? new AgentError("not_a_file", `${path} is not a regular file.`, { cause: error }) : error;
}

function movedAway(path: string): AgentError {
  return new AgentError("path_outside", `${path} leads somewhere else now: a part of it is a symbolic link.`);
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return "a directory";
  if (stats.isFIFO()) return "a named pipe";
  if (stats.isSocket()) return "a socket";
  return "a device";
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

const REMEMBERED = 1000;
const swept = new Set<string>();
