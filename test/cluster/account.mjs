// The account at the end: what was acknowledged, what the database holds and what readers got are held against each other.
import { pause } from "../soak/chance.mjs";
import { until } from "./nodes.mjs";

export async function settleAccounts({ sessions, query, counts, problems }) {
  const last = await headsAtRest(query);
  for (const session of sessions) {
    for (const reader of session.readers) {
      const end = last.get(session.id);
      await until("", () => reader.seen >= end).catch(async () => {
        const others = await countRecords(reader.at, session.id);
        problems.push(
          `${session.id}: a reader at ${reader.at} has ${reader.seen} of ${end} records, a new one gets ${others}`,
        );
      });
    }
    const rows = await query("SELECT line FROM chimera.event WHERE sid = $1 ORDER BY seq", session.id);
    counts.records += rows.length;
    const records = rows.map(({ line }) => JSON.parse(line));
    problems.push(...[...numbers(records), ...prompts(records, session.sent), ...ends(records)].map(named(session.id)));
  }
}

/** The records that a new reader gets within three seconds. */
async function countRecords(address, id) {
  let text = "";
  try {
    const { body } = await fetch(`${address}/sessions/${id}/events`, { signal: AbortSignal.timeout(3000) });
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) text += chunk;
  } catch {
    // The time is over.
  }
  return text.match(/^id: /gm)?.length ?? 0;
}

/** Waits until nothing is written any more; gives the last number of each session. */
async function headsAtRest(query) {
  let before = "";
  let heads = [];
  await until(
    "the logs are at rest",
    async () => {
      heads = await query("SELECT sid, last_seq::float8 AS last FROM chimera.session ORDER BY sid");
      const now = JSON.stringify(heads);
      const isSame = now === before;
      before = now;
      if (!isSame) await pause(1500);
      return isSame;
    },
    120_000,
  );
  return new Map(heads.map(({ sid, last }) => [sid, last]));
}

const named = (id) => (problem) => `${id}: ${problem}`;

function numbers(records) {
  return records.flatMap(({ seq }, i) => (seq === i + 1 ? [] : [`record ${i + 1} has the number ${seq}`]));
}

function prompts(records, sent) {
  const times = new Map();
  for (const { type, metadata } of records)
    if (type === "user_message") times.set(metadata.text, (times.get(metadata.text) ?? 0) + 1);
  return [...sent].flatMap(([text, outcome]) => {
    const found = times.get(text) ?? 0;
    const isWrong = found > 1 || (outcome === "acknowledged" && found === 0) || (outcome === "refused" && found > 0);
    return isWrong ? [`${text} was ${outcome} and is there ${found} times`] : [];
  });
}

/** A server that lost a session writes nothing more into it. */
function ends(records) {
  const ended = new Set();
  return records.flatMap(({ seq, type, turn }) => {
    const isLate = turn !== null && ended.has(turn) && type !== "undo";
    if (type === "agent_result" || type === "cancelled") ended.add(turn);
    return isLate ? [`record ${seq} (${type}) belongs to turn ${turn}, which has ended`] : [];
  });
}
