#!/usr/bin/env node
// A long run on a small machine: thousands of sessions over every transport with cancels, cut connections, restarts and
// kill -9, some of them run by an engine, some on two nodes of one database, with a window of the page open on them; and at its end an
// account of what was lost, leaked or left behind. It ends by itself; exit 1 says that something is wrong.
//   npm run test:soak -- [--minutes 30] [--sessions 2000] [--seed 1] [--keep]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createChance, pause } from "./chance.mjs";
import { liveInChildren } from "./editor-children.mjs";
import { createHttpClient } from "./http-client.mjs";
import { createLedger } from "./ledger.mjs";
import { startMortalServer } from "./mortal-server.mjs";
import { openPageWindow } from "./page-window.mjs";
import { createPrograms, ENGINE } from "./program.mjs";
import { makeScripts } from "./script.mjs";
import { startSteadyNodes } from "./steady-nodes.mjs";
import { startSteadyServer } from "./steady-server.mjs";
import { judge } from "./verdict.mjs";
import { verify } from "./verify.mjs";

/** The load comes in parts; after each the long-lived server is measured at rest. */
const PARTS = 8;
/** What a rest takes, and what the end takes for each session read once more. */
const REST_MS = 12_000;
const VERIFY_MS = 25;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    sessions: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    keep: { type: "boolean", default: false },
  },
});
const total = Number(values.sessions);
const partMs = Math.max(5000, (Number(values.minutes) * 60_000 - VERIFY_MS * total) / PARTS - REST_MS);
const started = Date.now();
const say = (text) => console.log(`soak ${((Date.now() - started) / 60_000).toFixed(1)} min: ${text}`);

const chance = createChance(Number(values.seed));
const root = mkdtempSync(join(tmpdir(), "chimera-soak-"));
/** Seconds that no other run sleeps: what a command leaves behind is known by it. */
const mark = `300.${process.pid}`;
const { models, workspaces } = furnish();

const ledger = createLedger();
const token = "soak-token-0123456789";
const counts = { cancels: 0, disconnects: 0, retries: 0, undos: 0, forks: 0, deletes: 0, restarts: 0, lastRetry: "" };
const programs = createPrograms({ root, token, engine: models[0] });
const shared = { ledger, counts, token, programs };

const steady = await startSteadyServer({ ...shared, chance: chance.branch() });
const mortal = startMortalServer({ ...shared, chance: chance.branch() });
const mortalHttp = createHttpClient({ ...shared, address: mortal.address, chance: chance.branch() });
const nodes = await startSteadyNodes({ ...shared, chance: chance.branch() });
const window = await openPageWindow({ address: steady.address, token });
const everySession = () => ledger.sessions.size + (nodes?.ledger.sessions.size ?? 0);

const inChildren = (own, count) =>
  liveInChildren({ ...shared, count, chance: own, surroundings: () => surroundings(own) });
/** Each lives one session, or the number of sessions it is given. */
const loads = [
  (own) => steady.http.live(surroundings(own)),
  (own) => steady.liveInEditor(own, surroundings(own)),
  (own) => mortalHttp.live(surroundings(own)),
  inChildren,
  (own) => steady.liveInEditor(own, surroundings(own), "remote"),
  (own) => mortalHttp.live({ ...surroundings(own), engine: own.happens(0.5) ? ENGINE : undefined }),
  ...(nodes ? [(own) => nodes.live(surroundings(own))] : []),
];

await load(8, 2000);
const rests = [await rest()];
for (let part = 1; part <= PARTS; part++) {
  // A process that is killed at once has had fewer sessions than were meant for it; the next part makes up for them.
  const missing = () => Math.ceil((total * part) / PARTS) - everySession();
  await load(missing(), partMs);
  while (part === PARTS && missing() > 0) await load(missing(), missing() * 500);
  rests.push(await rest());
  say(`part ${part}: ${everySession()} sessions, ${ledger.faults.length} faults, ${describe(rests.at(-1))}`);
}
await window?.close();
await Promise.all([mortal.end(), steady.end()]);
mortalHttp.hangUp();
const seen = await verify({ ...shared, chance: chance.branch() });
if (nodes) {
  const there = await nodes.verify();
  say(`${there.sessions} sessions and ${there.records} records read once more from the database`);
  ledger.faults.push(...nodes.ledger.faults);
  await nodes.stop();
}
programs.tidy();

const restsOfNodes = nodes && [0, 1].map((node) => rests.map((each) => each.nodes[node]));
const found = { rests, nodes: restsOfNodes, window, seen, lived: everySession() };
const rows = judge({ ...found, ledger, programs, mark, root, total });
say(JSON.stringify({ ...counts, ...ledger.counts, ...programs.counts }));
for (const { what, found, wanted, ok } of rows) console.log(`${ok ? "ok  " : "MISS"} | ${what} | ${found} | ${wanted}`);
const failed = rows.filter(({ ok }) => !ok).length;
say(failed === 0 ? "passed" : `${failed} of ${rows.length} missed`);
if (!values.keep) rmSync(root, { recursive: true, force: true });
else say(`kept ${root}`);
process.exitCode = failed === 0 ? 0 : 1;

// --- internal ---

function furnish() {
  const models = makeScripts({ chance, count: 12, mark }).map((script, index) => {
    const path = join(root, `script-${index}.json`);
    writeFileSync(path, script);
    return `scripted:${path}`;
  });
  const workspaces = Array.from({ length: 16 }, (_, index) => {
    const path = join(root, `workspace-${index}`);
    mkdirSync(path);
    writeFileSync(join(path, "README.md"), "# A workspace\n");
    return path;
  });
  return { models, workspaces };
}

function surroundings(own) {
  return { cwd: own.pick(workspaces), model: own.pick(models) };
}

/** So many sessions, begun evenly over the time, as many of each kind; ends when the last has. */
async function load(sessions, ms) {
  const lives = [];
  const begun = Date.now();
  for (let index = 0; index < sessions; ) {
    await pause(begun + (ms * index) / sessions - Date.now());
    const begin = loads[lives.length % loads.length];
    // A child process carries several sessions, and so it has its turn less often.
    const count = begin === inChildren ? Math.min(sessions - index, chance.between(1, 3)) : 1;
    const life = begin(chance.branch(), count);
    lives.push(life.catch((error) => ledger.fault("load", error.stack)));
    index += count;
  }
  await Promise.all(lives);
}

async function rest() {
  window?.rest();
  const measured = await steady.atRest();
  await window?.atRest();
  return { ...measured, nodes: await nodes?.atRest(), sessions: ledger.sessions.size };
}

function describe({ rss, inUse, heapUsed, descriptors }) {
  const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return `at rest ${mib(rss)} resident, ${mib(inUse)} in use, ${mib(heapUsed)} heap, ${descriptors.length} descriptors`;
}
