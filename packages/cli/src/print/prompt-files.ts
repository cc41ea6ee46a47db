/** Files for a prompt. Each is a block before the prompt, so that the model can distinguish them. */
import { createReadStream, fstatSync } from "node:fs";
import { resolve } from "node:path";
import type { PromptBlock } from "@chimera/acp-schema/events";
import { UsageError } from "@chimera/host";

/** A larger file causes a warning. */
const LARGE_BYTES = 100 * 1024;
/** Most bytes of all files of a prompt together. */
const MOST_BYTES = 500 * 1024;

export interface PromptFile {
  /** The path as typed; `-` is stdin. */
  readonly path: string;
  readonly text: string;
  readonly truncated: boolean;
}

interface PromptFilesOptions {
  readonly paths: readonly string[];
  readonly cwd: string;
  readonly stdin: AsyncIterable<Buffer | string>;
  readonly warn: (text: string) => void;
}

export async function readPromptFiles(options: PromptFilesOptions): Promise<PromptFile[]> {
  const files: PromptFile[] = [];
  let room = MOST_BYTES;
  for (const path of options.paths) {
    const source = path === "-" ? options.stdin : createReadStream(resolve(options.cwd, path));
    const { bytes, truncated } = await readUpTo(source, room, path);
    if (bytes.includes(0)) throw new UsageError(`-f ${path}: not a text file`);
    if (truncated) options.warn(`${path}: cut, files of a prompt may have ${MOST_BYTES / 1024} KiB together`);
    else if (bytes.length >= LARGE_BYTES) options.warn(`${path}: ${Math.round(bytes.length / 1024)} KiB of prompt`);
    room -= bytes.length;
    files.push({ path, text: bytes.toString("utf8"), truncated });
  }
  return files;
}

/** The prompt as blocks; undefined for a prompt without files, whose text is enough. */
export function promptBlocks(prompt: string, files: readonly PromptFile[]): PromptBlock[] | undefined {
  if (files.length === 0) return undefined;
  return [...files.map((file) => ({ type: "text", text: fileBlock(file) })), { type: "text", text: prompt }];
}

interface PipedStdin extends AsyncIterable<Buffer | string> {
  readonly fd: number;
  once(event: "readable" | "end", listener: () => void): unknown;
  off(event: "readable" | "end", listener: () => void): unknown;
}

/** Whether stdin is input for the prompt: `meant` for a pipe or a file, `perhaps` for a socket, `none` for anything else. */
export function pipedInput({ fd }: { readonly fd: number }): "none" | "meant" | "perhaps" {
  try {
    const stat = fstatSync(fd);
    if (stat.isFIFO() || stat.isFile()) return "meant";
    return stat.isSocket() ? "perhaps" : "none";
  } catch {
    return "none";
  }
}

/** Waits a moment for a socket. Resolves to true if there is something to read, and to false at its end or when the time is over. */
export function hasInput(stdin: PipedStdin): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (present: boolean) => {
      clearTimeout(timer);
      stdin.off("readable", onReadable);
      stdin.off("end", onEnd);
      resolve(present);
    };
    const onReadable = () => settle(true);
    const onEnd = () => settle(false);
    const timer = setTimeout(() => settle(false), SOCKET_PATIENCE_MS);
    stdin.once("readable", onReadable);
    stdin.once("end", onEnd);
  });
}

// --- internal ---

const READ_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a directory",
  EACCES: "you may not read it",
};

/** How long to wait for input from a socket, which another program may just have left open as our stdin. */
const SOCKET_PATIENCE_MS = 1000;

async function readUpTo(source: AsyncIterable<Buffer | string>, room: number, path: string) {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of source) {
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      chunks.push(bytes);
      size += bytes.length;
      if (size > room) break;
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(`-f ${path}: ${(code && READ_ERRORS[code]) ?? message}`);
  }
  return { bytes: Buffer.concat(chunks).subarray(0, room), truncated: size > room };
}

function fileBlock({ path, text, truncated }: PromptFile): string {
  const lines = text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  const end = `${text.endsWith("\n") || text === "" ? "" : "\n"}${truncated ? "<!-- truncated -->\n" : ""}`;
  return `<file path=${JSON.stringify(path)} lines="${lines}">\n${text}${end}</file>`;
}
