/**
 * The audit log records every decision. Each line is sealed with a hash over itself and the line before, which reveals a changed, removed
 * or reordered line. The head of a chain names its last line, which reveals a cut end too. Only this file seals and checks lines, wherever
 * they are stored. In files each process has its own chain; processes that share a database share one.
 */
import { createHash } from "node:crypto";
import { parseJson } from "@chimera/acp-schema/lenient";
import type { AuditChain, AuditChains, AuditEntry, ChainHead, StoredChain } from "@chimera/acp-schema/policy";
import { createLanes } from "@chimera/acp-schema/promises";

export interface Audit {
  /** Resolves when the entry is written. */
  append(entry: AuditEntry): Promise<void>;
  close(): Promise<void>;
}

/** The head of an empty chain. */
const GENESIS: ChainHead = { n: 0, hash: "0".repeat(64) };

/**
 * @param chain must be stored where no agent can write
 *
 * @example
 * const audit = createAudit(fileChain(join(home, "audit")));
 */
export function createAudit(chain: AuditChain): Audit {
  const { inLane, settled } = createLanes();
  const write = async (entry: AuditEntry): Promise<void> => {
    for (;;) {
      const last = (await chain.head()) ?? GENESIS;
      const n = last.n + 1;
      const ts = new Date().toISOString();
      const { line, hash } = seal({ n, ts, ...entry, args: shorten(entry.args), prev: last.hash });
      if (await chain.extend(last, line, { n, hash })) return;
    }
  };
  return {
    append: (entry) => inLane("", () => write(entry)),
    close: async () => {
      await settled();
      await chain.close();
    },
  };
}

export interface AuditProblem {
  readonly file: string;
  /** Number of the line, from 1; null for a problem of the whole file. */
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
 * Reads chains and reports where they were changed.
 *
 * @example
 * const { ok, problems } = await verifyAudit(auditFiles("/home/me/.chimera/audit"));
 */
export async function verifyAudit(kept: Pick<AuditChains, "all">): Promise<AuditReport> {
  const reports = await Promise.all((await kept.all()).map(verifyChain));
  const problems = reports.flatMap((report) => report.problems);
  const entries = reports.reduce((sum, report) => sum + report.entries, 0);
  return { ok: problems.length === 0, files: reports.length, entries, problems };
}

// --- internal ---

/** The hash of a line's text before its hash field. */
const hashOf = (body: string): string => createHash("sha256").update(body).digest("hex");

const MAX_TEXT = 2000;

function seal(entry: object): { line: string; hash: string } {
  const body = JSON.stringify(entry).slice(0, -1);
  const hash = hashOf(body);
  return { line: `${body},"hash":"${hash}"}`, hash };
}

/** Replaces long texts by their hash. The log shows what was decided on, but does not copy whole files. */
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
        // A crash may cut off the last line. Nothing was done after its decision, and the head does not count it.
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
  // A chain without lines has no head.
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
  const { n, prev } = Object(parseJson(`${body}}`)) as Record<string, unknown>;
  return typeof n === "number" && typeof prev === "string" ? { n, prev, hash } : null;
}
