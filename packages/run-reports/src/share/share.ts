import { randomBytes } from "node:crypto";
import { mkdir, open, realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ReportError } from "../errors.js";
import { oneOf, parseFormat, renderTranscript, type TranscriptFormat } from "../transcript/render.js";
import type { TranscriptSource } from "../transcript/source.js";
import type { Posting } from "./http.js";

export const SHARE_SINKS = ["file", "http", "stdout"] as const;
export type ShareSink = (typeof SHARE_SINKS)[number];

export interface ShareOptions extends Posting {
  readonly sink: ShareSink;
  /** `file`: the directory for shares. Nothing is written outside it. */
  readonly root: string;
  /** Secrets known by value, which are removed in addition to those known by their form. */
  readonly secrets?: readonly string[];
}

export type Shared =
  | { readonly sink: "file"; readonly format: TranscriptFormat; readonly path: string }
  | { readonly sink: "http"; readonly format: TranscriptFormat; readonly status: number; readonly reply: string }
  | { readonly sink: "stdout"; readonly format: TranscriptFormat; readonly body: string };

/**
 * Parses a sink from a body or a flag; `file` if there is none. Throws ReportError `invalid_sink`.
 *
 * @example
 * parseSink("HTTP"); // "http"
 */
export function parseSink(text: unknown): ShareSink {
  return oneOf(SHARE_SINKS, text, "sink");
}

/**
 * Renders the session to a file, an HTTP collector or the caller. Throws ReportError.
 *
 * @example
 * const shared = await share(await openTranscript(store, id), { sink: "file", format: "md", root: "/srv/shares" });
 */
export async function share(source: TranscriptSource, options: ShareOptions): Promise<Shared> {
  const sink = parseSink(options.sink);
  const format = parseFormat(options.format);
  const chunks = renderTranscript(source, { format, ...(options.secrets && { secrets: options.secrets }) });
  switch (sink) {
    case "file":
      return { sink, format, path: await writeShare(options.root, source.id, format, chunks) };
    case "http": {
      // Imported on demand, because lists and transcripts do not need it.
      const { postTranscript } = await import("./http.js");
      return { sink, format, ...(await postTranscript(chunks, source.id, { ...options, format })) };
    }
    case "stdout":
      return { sink, format, body: await gather(chunks) };
  }
}

// --- internal ---

/** Most characters of a body, which is part of a JSON reply and therefore in memory. */
const LARGEST_BODY = 64 * 1024 * 1024;

async function gather(chunks: AsyncIterable<string>): Promise<string> {
  const parts: string[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > LARGEST_BODY) throw new ReportError("too_large", "the transcript is over 64 MiB: share it to a file");
    parts.push(chunk);
  }
  return parts.join("");
}

/** A valid file name on every platform, which cannot lead out of its directory. */
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$/;
/** Error codes of a full disk, quota or file system. */
const NO_ROOM = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/**
 * Writes `<root>/<id>.<format>` atomically, readable by its owner only. Replaces a link with that name. Not as in event-store, whose texts
 * are small: a transcript comes piece by piece.
 */
async function writeShare(
  root: string,
  id: string,
  format: TranscriptFormat,
  chunks: AsyncIterable<string>,
): Promise<string> {
  if (!NAME.test(id)) throw new ReportError("not_found", "not a session id that a file can be named after");
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
    const directory = await realpath(root);
    const path = join(directory, `${id}.${format}`);
    const draft = join(directory, `.${id}.${randomBytes(6).toString("hex")}.tmp`);
    try {
      await writeNew(draft, chunks);
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    return path;
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? "unknown error";
    if (NO_ROOM.has(reason)) throw new ReportError("storage_full", "the disk is full", { cause: error });
    throw new ReportError("write_failed", `the share could not be written: ${reason}`, { cause: error });
  }
}

async function writeNew(path: string, chunks: AsyncIterable<string>): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of chunks) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}
