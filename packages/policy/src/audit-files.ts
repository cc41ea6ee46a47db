/** Audit chains in files: the lines of a chain in `audit-….jsonl`, and its head in a second file. */
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rename, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import type { AuditChain, AuditChains, ChainHead, StoredChain } from "@chimera/acp-schema/policy";

/**
 * The chain of this process, in its own file in `directory`. The first line creates the file, which only its owner can read.
 *
 * @example
 * const audit = createAudit(fileChain("/home/me/.chimera/audit"));
 */
export function fileChain(directory: string): AuditChain {
  let files: Promise<{ log: FileHandle; top: FileHandle }> | null = null;
  let last: ChainHead | null = null;
  const close = async () => {
    const opened = await files?.catch(() => null);
    files = last = null;
    await Promise.all([opened?.log.close(), opened?.top.close()]);
  };
  return {
    head: async () => last,
    async extend(_after, line, head) {
      files ??= openFiles(directory);
      const { log, top } = await files.catch((error: unknown) => {
        files = null;
        throw error;
      });
      const { size } = await log.stat();
      await log.appendFile(`${line}\n`).catch(async (error: unknown) => {
        // A full disk may have written a part of the line, after which no line would verify: cut it off, or else begin another chain.
        await log.truncate(size).catch(close);
        throw error;
      });
      last = head;
      await top.write(formatHead(head), 0);
      return true;
    },
    close,
  };
}

/**
 * The chains in a directory, or the chain in a file; none if the path does not exist.
 *
 * @example
 * const { problems } = await verifyAudit(auditFiles("/home/me/.chimera/audit"));
 */
export function auditFiles(directory: string): AuditChains {
  return {
    async all() {
      const found = await stat(directory).catch(() => null);
      if (found === null) return [];
      if (!found.isDirectory()) return [await readChain(directory)];
      const names = (await readdir(directory)).filter((name) => LOG_NAME.test(name.replace(/\.head$/, "")));
      // A head without its log counts as a missing log.
      const logs = [...new Set(names.map((name) => join(directory, name.replace(/\.head$/, ""))))].sort();
      return Promise.all(logs.map(readChain));
    },
    async put({ name, head, lines }) {
      // Check the name: it comes from another store, and becomes a path here.
      if (!LOG_NAME.test(name)) throw new Error(`not the name of a chain: ${JSON.stringify(name)}`);
      const path = join(directory, name);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await replace(path, async (file) => {
        for await (const line of lines()) await file.appendFile(`${line}\n`);
      });
      // Write the head after the lines, because a chain may have more lines than its head says.
      if (head) await replace(`${path}.head`, (file) => file.appendFile(formatHead(head)));
    },
  };
}

// --- internal ---

const LOG_NAME = /^audit-[\w.-]+\.jsonl$/;

/** The text of a head, always of the same length, so that it can be overwritten in place. */
function formatHead({ n, hash }: ChainHead): string {
  return `${String(n).padStart(12, "0")} ${hash}\n`;
}

async function openFiles(directory: string): Promise<{ log: FileHandle; top: FileHandle }> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const path = join(directory, `audit-${stamp}-${randomBytes(4).toString("hex")}.jsonl`);
  const log = await open(path, "ax", 0o600);
  return { log, top: await open(`${path}.head`, "wx", 0o600) };
}

/**
 * Replaces a file atomically: whenever the process dies, the old or the new file is there. Not as in event-store, whose texts are small: a
 * chain comes line by line.
 */
async function replace(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const draft = `${path}.draft`;
  const file = await open(draft, "w", 0o600);
  try {
    await write(file);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

async function readChain(path: string): Promise<StoredChain> {
  const text = await readFile(`${path}.head`, "utf8").catch(() => "");
  const [, n, hash] = /^(\d{12}) ([0-9a-f]{64})\n$/.exec(text) ?? [];
  const head = n === undefined || hash === undefined ? null : { n: Number(n), hash };
  async function* lines() {
    const input = createReadStream(path);
    try {
      yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
    } finally {
      // Close the file also when a reader stops early.
      input.destroy();
    }
  }
  return { name: basename(path), head, lines };
}
