#!/usr/bin/env node
// Several servers on one database, and things that go wrong: servers and the database are killed, a standby is promoted, servers are
// frozen and wake up, connections are cut in the middle of appends. At the end: no acknowledged prompt is lost or doubled, no reader has
// a gap or a duplicate, nothing is written to a turn after its end, and a dead server's sessions are taken over within the lease and a
// second.
//   npm run test:cluster -- [--rounds 200] [--seed 1] [--nodes 3] [--sessions 6] [--readers 12] [--lease 2]
//   npm run test:cluster -- --load 600       200 sessions, 500 readers, and a server killed every 20 s for ten minutes
//   npm run test:cluster -- --load 60 --picture docs/pictures/takeover.svg
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { createChance, pause } from "../soak/chance.mjs";
import { settleAccounts } from "./account.mjs";
import { startDatabase } from "./database.mjs";
import { createFaults, faultsOfRound } from "./faults.mjs";
import { startNodes } from "./nodes.mjs";
import { drawTakeover, watchTakeover } from "./picture.mjs";
import { startTraffic } from "./traffic.mjs";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    load: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 100_000) },
    nodes: { type: "string", default: "3" },
    sessions: { type: "string" },
    readers: { type: "string" },
    lease: { type: "string", default: "2" },
    picture: { type: "string" },
  },
});
const isLoad = values.load !== undefined;
const leaseMs = Number(values.lease) * 1000;
console.log(`--seed ${values.seed}`);
const chance = createChance(Number(values.seed));
const counts = {
  prompts: 0,
  acknowledged: 0,
  unknown: 0,
  refused: 0,
  /** By their code. */
  refusals: {},
  reconnects: 0,
  delivered: 0,
  records: 0,
  lostReplies: 0,
};
const takeovers = [];
const problems = [];

const database = await startDatabase(chance.branch(), counts);
const store = `${database.address}&lease=${values.lease}`;
const nodes = await startNodes({ count: Number(values.nodes), store, chance: chance.branch() });
const traffic = await startTraffic({
  nodes,
  chance: chance.branch(),
  counts,
  problems,
  sessions: Number(values.sessions ?? (isLoad ? 200 : 6)),
  readers: Number(values.readers ?? (isLoad ? 500 : 12)),
  restMs: isLoad ? 16_000 : 400,
  answerMs: leaseMs + 20_000,
});
const faults = createFaults({ nodes, database, chance, leaseMs, takeovers, problems });
const executed = {};
const run = async (name) => {
  await faults[name]();
  executed[name] = (executed[name] ?? 0) + 1;
};

const startedAt = performance.now();
const watch = values.picture && watchTakeover({ nodes, database, counts });
if (isLoad) {
  const KILL_EVERY_MS = 20_000;
  for (let at = KILL_EVERY_MS / 2; at < Number(values.load) * 1000; at += KILL_EVERY_MS) {
    await pause(Math.max(0, at - (performance.now() - startedAt)));
    watch?.mark();
    await run("killNode");
  }
  await pause(Math.max(0, Number(values.load) * 1000 - (performance.now() - startedAt)));
} else
  for (let round = 0; round < Number(values.rounds); round++)
    for (const name of faultsOfRound(round)) {
      await pause(chance.between(200, 1200));
      await run(name);
    }
if (watch) writeFileSync(values.picture, drawTakeover(watch.stop(), leaseMs));

await traffic.rest();
await settleAccounts({ sessions: traffic.sessions, query: database.query, counts, problems });
await traffic.stop();
await nodes.stop();
await database.stop();

const seconds = Math.round((performance.now() - startedAt) / 1000);
const slowest = Math.max(0, ...takeovers);
console.log(JSON.stringify({ seed: values.seed, seconds, executed, ...counts, takeovers: takeovers.length, slowest }));
for (const problem of problems) console.log(`PROBLEM ${problem}`);
console.log(problems.length === 0 ? "nothing was lost, doubled or left" : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
