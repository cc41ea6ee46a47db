/**
 * The audit log: every decision, each line sealed with a hash over itself and the line before, so that a changed, removed or
 * reordered line shows. Beside a chain is a head that names the last line, so that a cut end shows too. Lines are sealed and checked
 * here alone, wherever they are kept. In files each process has a chain of its own; processes that share a database share one.
 */
import { createHash } from "node:crypto";
import type { AuditChain, AuditEntry, ChainHead, StoredChain } from "@chimera/acp-schema/policy";
import { addToFile, chainsAt } from "./audit-files.js";

export interface Audit {
  /** Resolves when the entry is written. */
  append(entry: AuditEntry): Promise<void>;
  close(): Promise<void>;
}

export type AuditOptions = {
  readonly now?: () => Date;
} & (
  | {
      /** Outside of anything an agent may write; made when needed, readable by its owner only. */
      readonly directory: string;
    }
  | { readonly chain: AuditChain }
);

/** What the first line of every chain follows. */
const GENESIS: ChainHead = { n: 0, hash: "0".repeat(64) };

/** Nothing is created before the first entry. */
export function createAudit(options: AuditOptions): Audit {
  const { now = () => new Date() } = options;
  const files = "directory" in options ? addToFile(options.directory, now) : null;
  const chain = "chain" in options ? options.chain : files!;
  let queue: Promise<void> = Promise.resolve();
  const write = async (entry: AuditEntry): Promise<void> => {
    for (;;) {
      const last = (await chain.head()) ?? GENESIS;
      const n = last.n + 1;
      const { line, hash } = seal({ n, ts: now().toISOString(), ...entry, args: shorten(entry.args), prev: last.hash });
      if (await chain.extend(last, line, { n, hash })) return;
    }
  };
  return {
    append: (entry) => {
      const done = queue.then(() => write(entry));
      queue = done.catch(() => {});
      return done;
    },
    close: async () => {
      await queue;
      await files?.close();
    },
  };
}

export interface AuditProblem {
  readonly file: string;
  /** 1-based; null when it is about the file as a whole. */
  readonly line: number | null;
  readonly problem: string;
}

export interface AuditReport {
  readonly ok: boolean;
  readonly files: number;
  readonly entries: number;
  readonly problems: readonly AuditProblem[];
}

/**
 * Reads a log back and tells where it was changed. A path is one log or a directory of them; a missing path is an empty log.
 *
 * @example
 * const { ok, problems } = await verifyAudit("/home/me/.chimera/audit");
 */
export async function verifyAudit(kept: string | readonly StoredChain[]): Promise<AuditReport> {
  const chains = typeof kept === "string" ? await chainsAt(kept) : kept;
  const reports = await Promise.all(chains.map(verifyChain));
  const problems = reports.flatMap((report) => report.problems);
  const entries = reports.reduce((sum, report) => sum + report.entries, 0);
  return { ok: problems.length === 0, files: reports.length, entries, problems };
}

// --- internal ---

/** The hash of a line's text up to where the hash begins. */
const hashOf = (body: string): string => createHash("sha256").update(body).digest("hex");

const MAX_TEXT = 2000;

function seal(entry: object): { line: string; hash: string } {
  const body = JSON.stringify(entry).slice(0, -1);
  const hash = hashOf(body);
  return { line: `${body},"hash":"${hash}"}`, hash };
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

const SEALED = /^(.*),"hash":"([0-9a-f]{64})"\}$/s;

async function verifyChain({ name, head, lines }: StoredChain): Promise<{ entries: number; problems: AuditProblem[] }> {
  const problems: AuditProblem[] = [];
  const report = (line: number | null, problem: string) => void problems.push({ file: name, line, problem });
  const hashes = [GENESIS.hash];
  let line = 0;
  let expected = 1;
  try {
    for await (const text of lines()) {
      line += 1;
      const entry = openSeal(text);
      if (!entry) {
        // A crash can cut the very last line short; its decision was never acted on, and the head does not count it.
        const torn = head !== null && expected > head.n && !text.endsWith("}");
        if (!torn) report(line, "the line was changed");
        expected += torn ? 0 : 1;
        hashes.push("");
        continue;
      }
      if (entry.n !== expected)
        report(line, `lines are missing or out of order: found ${entry.n} where ${expected} belongs`);
      else if (hashes.at(-1) !== "" && entry.prev !== hashes.at(-1)) report(line, "it does not follow the line before");
      expected = entry.n + 1;
      hashes.push(entry.hash);
    }
  } catch (error) {
    report(null, (error as NodeJS.ErrnoException).code === "ENOENT" ? "the log is missing" : (error as Error).message);
    return { entries: 0, problems };
  }
  // A chain without a line has none.
  if (head === null) {
    if (expected > 1) report(null, "the head is missing");
  } else if (head.n >= expected) report(null, `lines ${expected} to ${head.n} are missing at the end`);
  else if (hashes[head.n] !== undefined && hashes[head.n] !== "" && hashes[head.n] !== head.hash) {
    report(head.n, "it is not the line that the head names");
  }
  return { entries: line, problems };
}

function openSeal(text: string): { n: number; prev: string; hash: string } | null {
  const [, body, hash] = SEALED.exec(text) ?? [];
  if (body === undefined || hash === undefined || hashOf(body) !== hash) return null;
  try {
    const { n, prev } = JSON.parse(`${body}}`) as Record<string, unknown>;
    return typeof n === "number" && typeof prev === "string" ? { n, prev, hash } : null;
  } catch {
    return null;
  }
}
