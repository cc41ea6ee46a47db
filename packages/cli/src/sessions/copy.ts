/** `store copy`: copies all sessions to another store record by record, compares them, and copies remembered answers and decisions. */
import { createHash } from "node:crypto";
import { isStoreError } from "@chimera/event-store";
import { type Invocation, UsageError } from "@chimera/host";
import type { Storage } from "@chimera/host/storage";
import { isSet } from "../flags.js";
import { createProgress, printReport } from "../output.js";
import { complain } from "../reported.js";
import { type SessionStore, withStore } from "../store.js";

export async function copyStore(invocation: Invocation): Promise<number> {
  const [from, to] = invocation.operands;
  if (from === undefined || to === undefined) throw new UsageError("name two stores: store copy <from> <to>");
  if (from === to) throw new UsageError("these are the same store");
  return withStore(
    invocation,
    (source) => withStore(invocation, (target) => copy(invocation, source, target), to),
    from,
  );
}

// --- internal ---

async function copy(invocation: Invocation, from: Storage, to: Storage): Promise<number> {
  const { flags, process } = invocation;
  const [source, target] = [from.store, to.store];
  const progress = createProgress(process.stderr, "sessions copied");
  const counts = { copied: 0, unchanged: 0, left: 0, records: 0, answers: 0, chains: 0 };
  try {
    const { sessions } = await source.list({ order: "created" });
    for (const [at, { id }] of sessions.entries()) {
      progress.update(at + 1, sessions.length);
      const state = await compare(source, target, id);
      if (state === "same") counts.unchanged += 1;
      else if (state === "different" && !isSet(flags, "overwrite")) {
        counts.left += 1;
        complain(invocation, `${id} is different in both stores and was left alone; --overwrite replaces it`);
      } else {
        counts.records += await copySession(source, target, id);
        counts.copied += 1;
      }
    }
    const { answers, chains } = await copyKept(from, to);
    counts.answers = answers;
    counts.chains = chains.copied;
    counts.left += chains.left.length;
    for (const name of chains.left)
      complain(invocation, `the decisions of ${name} are different in both stores and were left alone`);
  } finally {
    progress.end();
  }
  const lines = [
    `${counts.copied} sessions copied (${counts.records} records), ${counts.unchanged} were there, ${counts.left} left alone`,
    `${counts.answers} remembered answers and ${counts.chains} chains of decisions copied`,
  ];
  await printReport(invocation, counts, lines);
  return counts.left > 0 ? 1 : 0;
}

async function copyKept(from: Storage, to: Storage) {
  const [{ copyAnswers, copyAudit }, source, target] = await Promise.all([
    import("@chimera/policy"),
    from.kept(),
    to.kept(),
  ]);
  return {
    answers: await copyAnswers(source.answers, target.answers),
    chains: await copyAudit(source.chains, target.chains),
  };
}

/** Compares a session in both stores. `earlier`: the target has an earlier state of it; `different`: the logs diverged. */
async function compare(
  source: SessionStore,
  target: SessionStore,
  id: string,
): Promise<"missing" | "same" | "earlier" | "different"> {
  if (!(await target.has(id))) return "missing";
  const [here, there] = await Promise.all([source.lastSeq(id), target.lastSeq(id)]);
  if (there > here) return "different";
  if ((await digest(source, id, there)) !== (await digest(target, id, there))) return "different";
  return there === here ? "same" : "earlier";
}

/** Returns the number of records. Throws when the copy differs from the source. */
async function copySession(source: SessionStore, target: SessionStore, id: string): Promise<number> {
  const summary = await source.readSummary(id);
  if (summary === null) return 0;
  const to = await source.lastSeq(id);
  const replace = await target.has(id);
  await target.importLog(id, { summary, records: source.read(id, { to }), replace }).catch((error: unknown) => {
    throw isStoreError(error) && error.code === "claimed" ? new Error(`${id} is open in the target`) : error;
  });
  if ((await digest(source, id, to)) !== (await digest(target, id, to)))
    throw new Error(`the copy of ${id} differs from its source; copy it again`);
  return to;
}

/** Hashes the records up to `to`, and the positions of lost records. */
async function digest(store: SessionStore, id: string, to: number): Promise<string> {
  const hash = createHash("sha256");
  for await (const entry of store.read(id, { to }))
    hash.update("line" in entry ? entry.line : `lost ${entry.seq} ${entry.last}`);
  return hash.digest("hex");
}
