/** Chains of decisions in files: the lines of one in `audit-….jsonl`, its head beside it. */
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rename, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import type { AuditChain, AuditChains, ChainHead, StoredChain } from "@chimera/acp-schema/policy";

/** The chain of this process, in a file of its own, which is made with its first line. */
export function addToFile(directory: string, now: () => Date): AuditChain & { close(): Promise<void> } {
  let files: Promise<{ log: FileHandle; top: FileHandle }> | null = null;
  let last: ChainHead | null = null;
  return {
    head: async () => last,
    async extend(_after, line, head) {
      files ??= openFiles(directory, now());
      const { log, top } = await files.catch((error: unknown) => {
        files = null;
        throw error;
      });
      await log.appendFile(`${line}\n`);
      last = head;
      await top.write(formatHead(head), 0);
      return true;
    },
    async close() {
      const opened = await files?.catch(() => null);
      files = null;
      await Promise.all([opened?.log.close(), opened?.top.close()]);
    },
  };
}

/**
 * The chains of a directory, readable by its owner only.
 *
 * @example
 * const { problems } = await verifyAudit(await auditFiles("/home/me/.chimera/audit").all());
 */
export function auditFiles(directory: string): AuditChains {
  return {
    all: () => chainsAt(directory),
    async put({ name, head, lines }) {
      // A name comes from another store, and becomes a path here.
      if (!LOG_NAME.test(name)) throw new Error(`not the name of a chain: ${JSON.stringify(name)}`);
      const path = join(directory, name);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await replace(path, async (file) => {
        for await (const line of lines()) await file.appendFile(`${line}\n`);
      });
      // After its lines: a chain may have more of them than its head says.
      if (head) await replace(`${path}.head`, (file) => file.appendFile(formatHead(head)));
    },
  };
}

/** Those of a directory, or the one of a file; none where nothing is. */
export async function chainsAt(path: string): Promise<StoredChain[]> {
  const found = await stat(path).catch(() => null);
  if (found === null) return [];
  if (!found.isDirectory()) return [await readChain(path)];
  const names = (await readdir(path)).filter((name) => LOG_NAME.test(name.replace(/\.head$/, "")));
  // A head whose log is gone counts as a log that is missing.
  const logs = [...new Set(names.map((name) => join(path, name.replace(/\.head$/, ""))))].sort();
  return Promise.all(logs.map(readChain));
}

// --- internal ---

const LOG_NAME = /^audit-[\w.-]+\.jsonl$/;

/** Of one width, so that it can be written over itself. */
function formatHead({ n, hash }: ChainHead): string {
  return `${String(n).padStart(12, "0")} ${hash}\n`;
}

async function openFiles(directory: string, at: Date): Promise<{ log: FileHandle; top: FileHandle }> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const stamp = at.toISOString().replace(/[-:]|\.\d+/g, "");
  const path = join(directory, `audit-${stamp}-${randomBytes(4).toString("hex")}.jsonl`);
  const log = await open(path, "ax", 0o600);
  return { log, top: await open(`${path}.head`, "wx", 0o600) };
}

/** The whole file or the one of before, whenever the process dies. */
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
      // A reader that stops early leaves it open otherwise.
      input.destroy();
    }
  }
  return { name: basename(path), head, lines };
}
