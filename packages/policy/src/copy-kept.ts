/** Copies remembered answers and audit chains from one store to another, except those that the target already has. */
import type { AnswerLines, AuditChains, StoredChain } from "@chimera/acp-schema/policy";
import { answerIn } from "./remembered.js";

export interface CopiedAudit {
  readonly copied: number;
  readonly unchanged: number;
  /** The names of chains that differ between the stores and were not copied. */
  readonly left: readonly string[];
}

/**
 * Copies chains line by line, with their seals. Throws when the copy differs from its source.
 *
 * @example
 * const { copied, left } = await copyAudit(auditFiles(join(home, "audit")), other);
 */
export async function copyAudit(from: AuditChains, to: AuditChains): Promise<CopiedAudit> {
  const counts = { copied: 0, unchanged: 0, left: [] as string[] };
  /** First line -> chain, because the chain that servers share in a database has another name elsewhere. */
  const there = new Map<string | null, StoredChain>();
  for (const chain of await to.all()) there.set(await firstLine(chain), chain);
  const names = new Set([...there.values()].map(({ name }) => name));
  const sent = new Map<string, StoredChain>();
  for (const found of await from.all()) {
    const source = { ...found, lines: () => wholeLines(found) };
    const first = await firstLine(source);
    if (first === null) continue;
    const target = there.get(first);
    const state = target ? await compare(source, target) : names.has(source.name) ? "different" : "behind";
    if (state === "different") counts.left.push(source.name);
    else if (state === "whole") counts.unchanged += 1;
    else {
      const name = target?.name ?? source.name;
      await to.put({ ...source, name });
      sent.set(name, source);
      counts.copied += 1;
    }
  }
  const arrived = new Map((await to.all()).map((chain) => [chain.name, chain]));
  for (const [name, source] of sent) {
    const found = arrived.get(name);
    if (!found || (await compare(source, found)) === "different")
      throw new Error(`the copy of ${source.name} differs from its source; copy it again`);
  }
  return counts;
}

/**
 * Copies missing answers in their order, so that the last one applies. If the target has its own answers in a workspace, these win, and
 * only answers about other calls are added. Resolves to the number of added lines.
 *
 * @example
 * const added = await copyAnswers(source, target);
 */
export async function copyAnswers(from: AnswerLines, to: AnswerLines): Promise<number> {
  let added = 0;
  for (const workspace of await from.workspaces()) {
    const [source, target] = [await linesOf(from, workspace), await linesOf(to, workspace)];
    const [sent, there] = [new Set(source), new Set(target)];
    const isEarlier = target.every((line) => sent.has(line));
    const answered = new Set(target.map((line) => answerIn(line)?.about));
    for (const line of source) {
      if (there.has(line) || (!isEarlier && answered.has(answerIn(line)?.about))) continue;
      await to.add(workspace, line);
      there.add(line);
      added += 1;
    }
  }
  return added;
}

// --- internal ---

/** The lines of a chain without an incomplete last line, on which nothing was done yet. */
async function* wholeLines({ lines }: StoredChain): AsyncGenerator<string> {
  let last: string | null = null;
  for await (const line of lines()) {
    if (last !== null) yield last;
    last = line;
  }
  if (last?.endsWith("}")) yield last;
}

async function firstLine({ lines }: StoredChain): Promise<string | null> {
  try {
    for await (const line of lines()) return line;
  } catch (error) {
    // The log of a head is missing, so there is nothing to copy.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return null;
}

/** Whether the target has all lines of the source (`whole`), only the first of them (`behind`), or other lines. */
async function compare(source: StoredChain, target: StoredChain): Promise<"whole" | "behind" | "different"> {
  const there = target.lines()[Symbol.asyncIterator]();
  try {
    for await (const line of source.lines()) {
      const { done, value } = await there.next();
      if (done) return "behind";
      if (value !== line) return "different";
    }
    return "whole";
  } finally {
    await there.return?.();
  }
}

async function linesOf(lines: AnswerLines, workspace: string): Promise<string[]> {
  return (await lines.read(workspace)).split("\n").filter((line) => answerIn(line) !== null);
}
