/**
 * The audit log: every decision, each line sealed with a hash over itself and the line before, so that a changed, removed or
 * reordered line shows. Each process writes a file of its own, so that no two chains mix; beside it a head names the last
 * line, so that a cut end shows too.
 */
import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { AuditEntry } from "../policy-port.js";

export interface Audit {
  /** Resolves when the entry is in the file. */
  append(entry: AuditEntry): Promise<void>;
  close(): Promise<void>;
}

export interface AuditOptions {
  /** Outside of anything an agent may write; made when needed, readable by its owner only. */
  readonly directory: string;
  readonly now?: () => Date;
}

/** What the first line of every file follows. */
export const GENESIS = "0".repeat(64);

/** Nothing is created before the first entry. */
export function createAudit({ directory, now = () => new Date() }: AuditOptions): Audit {
  let files: Promise<{ log: FileHandle; head: FileHandle }> | null = null;
  let last = { n: 0, hash: GENESIS };
  let queue: Promise<void> = Promise.resolve();
  const write = async (entry: AuditEntry): Promise<void> => {
    files ??= openFiles(directory, now());
    const { log, head } = await files.catch((error: unknown) => {
      files = null;
      throw error;
    });
    const sealed = seal({
      n: last.n + 1,
      ts: now().toISOString(),
      ...entry,
      args: shorten(entry.args),
      prev: last.hash,
    });
    await log.appendFile(`${sealed.line}\n`);
    last = { n: last.n + 1, hash: sealed.hash };
    await head.write(formatHead(last), 0);
  };
  return {
    append: (entry) => {
      const done = queue.then(() => write(entry));
      queue = done.catch(() => {});
      return done;
    },
    close: async () => {
      await queue;
      const opened = await files?.catch(() => null);
      files = null;
      await Promise.all([opened?.log.close(), opened?.head.close()]);
    },
  };
}

/** The hash of a line's text up to where the hash begins. */
export function hashOf(body: string): string {
  return createHash("sha256").update(body).digest("hex");
}

/** Of one width, so that it can be written over itself. */
export function formatHead({ n, hash }: { n: number; hash: string }): string {
  return `${String(n).padStart(12, "0")} ${hash}\n`;
}

// --- internal ---

const MAX_TEXT = 2000;

function seal(entry: object): { line: string; hash: string } {
  const body = JSON.stringify(entry).slice(0, -1);
  const hash = hashOf(body);
  return { line: `${body},"hash":"${hash}"}`, hash };
}

async function openFiles(directory: string, at: Date): Promise<{ log: FileHandle; head: FileHandle }> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const stamp = at.toISOString().replace(/[-:]|\.\d+/g, "");
  const path = join(directory, `audit-${stamp}-${randomBytes(4).toString("hex")}.jsonl`);
  const log = await open(path, "ax", 0o600);
  return { log, head: await open(`${path}.head`, "wx", 0o600) };
}

/** Long texts are named by their hash: the log shows what was decided on, it does not keep a copy of every file. */
function shorten(args: AuditEntry["args"]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => {
      const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
      return [key, text.length <= MAX_TEXT ? value : { sha256: hashOf(text), characters: text.length }];
    }),
  );
}
