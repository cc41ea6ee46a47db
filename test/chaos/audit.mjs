// After the chaos: a server that knew nothing of it reads everything, and each acknowledged fact must be there.
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { foldConversation } from "@chimera/acp-schema/conversation";

/** Counts what was held against the logs; what is missing is a fault of the ledger. */
export async function audit({ http, ledger, facts, home }) {
  const seen = {
    sessions: 0,
    records: 0,
    prompts: 0,
    titles: 0,
    answers: 0,
    settings: 0,
    undos: 0,
    forks: 0,
    deletions: 0,
    files: 0,
    doubtful: 0,
  };
  const left = [];
  for (const [id, fact] of facts.sessions) {
    const { status, body } = await http.ask("GET", `/sessions/${id}`);
    if (fact.deleted === "yes") {
      seen.deletions++;
      if (status !== 404 || existsSync(join(home, "eventlog", id))) ledger.fault(id, `deleted, and answers ${status}`);
      continue;
    }
    if (status === 404 && fact.deleted === "maybe") continue;
    if (status !== 200) {
      ledger.fault(id, `acknowledged, and answers ${status} ${JSON.stringify(body).slice(0, 300)}`);
      continue;
    }
    const lines = await http.records(id, body.event_count);
    ledger.checkRecords(id, lines);
    seen.sessions++;
    seen.records += lines.length;
    const records = lines.map(({ line }) => JSON.parse(line));
    for (const record of records)
      if (record.type === "notice" && record.metadata.missing) ledger.fault(id, "a record is lost");
    holdFacts(id, fact, records, ledger, seen);
    for (const child of fact.forks) {
      seen.forks++;
      if (!facts.sessions.has(child)) ledger.fault(id, `its fork ${child} is unknown`);
    }
    if (records.some(({ type }) => type === "forked") === false && isFork(id, facts))
      ledger.fault(id, "a fork without a record of it");
    left.push([id, fact, records]);
  }
  for (const [id, fact, records] of left) holdFiles(id, fact, records, ledger, seen);
  return seen;
}

// --- internal ---

const isFork = (id, facts) => [...facts.sessions.values()].some(({ forks }) => forks.includes(id));

function holdFacts(id, fact, records, ledger, seen) {
  const of = (type) => records.filter((record) => record.type === type);
  for (const { turn, text } of fact.prompts) {
    seen.prompts++;
    const found = of("user_message").filter(({ metadata }) => metadata.text === text);
    const isThere = text.startsWith("/")
      ? found.some((one) => one.turn === turn)
      : found.length === 1 && (turn === null || found[0].turn === turn);
    if (!isThere) ledger.fault(id, `the prompt of turn ${turn}, ${text}, is there ${found.length} times`);
  }
  for (const title of fact.titles) {
    seen.titles++;
    if (!of("title_changed").some(({ metadata }) => metadata.title === title))
      ledger.fault(id, `the title ${title} is lost`);
  }
  for (const { permission, decision } of fact.answers) {
    seen.answers++;
    const found = of("permission_resolved").filter(({ metadata }) => metadata.permission_id === permission);
    if (found.length !== 1 || found[0].metadata.decision !== decision)
      ledger.fault(
        id,
        `the answer ${decision} to ${permission} is ${JSON.stringify(found.map(({ metadata }) => metadata))}`,
      );
  }
  for (const model of fact.settings) {
    seen.settings++;
    if (!of("model_changed").some(({ metadata }) => metadata.new === model))
      ledger.fault(id, `the model ${model} is lost`);
  }
  const rewound = of("undo").length + of("redo").length;
  seen.undos += fact.undos;
  if (rewound < fact.undos) ledger.fault(id, `${fact.undos} undos were acknowledged, the log has ${rewound}`);
  const isOwn = (path) => fact.words.has(basename(path, ".txt"));
  for (const { metadata } of [...of("undo"), ...of("redo")])
    for (const { path, outcome, reason } of metadata.files) {
      // The snapshots of its parent's turns stay with the parent, so an undo in a fork leaves the parent's files and says so.
      if (reason === "not_kept" && !isOwn(path)) continue;
      if (outcome === "skipped" || outcome === "conflict")
        ledger.fault(id, `an undo left ${path}: ${outcome} ${reason}`);
    }
}

/** A file is there when its turn wrote it and stands; it is not when its turn never ran, or was undone. */
function holdFiles(id, { cwd, words }, records, ledger, seen) {
  const conversation = foldConversation();
  for (const record of records) conversation.apply(record);
  const calls = new Map();
  for (const { type, turn, metadata } of records) {
    if (type === "tool_call") calls.set(turn, "called");
    if (type === "tool_result") calls.set(turn, metadata.success ? "done" : "failed");
  }
  for (const { type, turn, metadata } of records) {
    const name = type === "user_message" ? /^(?:write|run `printf) (w[0-9a-z]+)/.exec(metadata.text)?.[1] : undefined;
    // A fork has the words of its parent; its files are the parent's.
    if (name === undefined || !words.has(name)) continue;
    const path = join(cwd, `${name}.txt`);
    const found = existsSync(path) ? readFileSync(path, "utf8") : null;
    const { undone, filesUndone } = conversation.turns[turn];
    const call = calls.get(turn);
    seen.files++;
    if (filesUndone ?? undone) {
      if (found !== null) ledger.fault(id, `turn ${turn} is undone, and ${path} is there`);
    } else if (call === undefined) {
      if (found !== null) ledger.fault(id, `turn ${turn} called nothing, and ${path} is there`);
    } else if (call === "done") {
      if (found !== name) ledger.fault(id, `turn ${turn} wrote ${path}, which is ${found}`);
    } else seen.doubtful++;
  }
}
