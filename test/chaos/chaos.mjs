#!/usr/bin/env node
// A bad day, made by chance: two servers on one home that are killed and frozen, links that are cut, clocks that jump, and commands in
// the middle of it. At the end nothing that was acknowledged may be lost, no number given out twice, and files agree with the logs.
//   npm run test:chaos -- [--minutes 60] [--seed N] [--keep]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createChance, pause } from "../soak/chance.mjs";
import { createHttpClient } from "../soak/http-client.mjs";
import { createLedger } from "../soak/ledger.mjs";
import { addressOf, createPrograms } from "../soak/program.mjs";
import { audit } from "./audit.mjs";
import { createPerson, liveInEditor } from "./person.mjs";
import { startServer } from "./servers.mjs";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    people: { type: "string", default: "5" },
    keep: { type: "boolean", default: false },
  },
});
const started = Date.now();
const over = started + Number(values.minutes) * 60_000;
const say = (text) => console.log(`chaos ${((Date.now() - started) / 60_000).toFixed(1)} min: ${text}`);
say(`--seed ${values.seed} --minutes ${values.minutes}`);

const chance = createChance(Number(values.seed));
const root = mkdtempSync(join(tmpdir(), "chaos-"));
const home = join(root, "home");
mkdirSync(home);
const token = "chaos-token";
const ledger = createLedger();
const facts = { words: 0, sessions: new Map() };
const counts = { requests: 0, unanswered: 0, broken: 0, cuts: 0, freezes: 0, restarts: 0, jumps: 0, commands: 0 };
const programs = createPrograms({ root, token, ttl: 2, preload: [join(import.meta.dirname, "clock.mjs")] });
const isOver = () => Date.now() > over;
const shared = { programs, counts, isOver, ledger, facts, token, root };

/** One server at a time is frozen for so long that the other takes its sessions over: early in a short run, then about every five minutes. */
const longFreezes = (offset) => {
  const times = [];
  for (let at = started + offset; at < over - 40_000; at += 300_000) times.push(at);
  return times;
};
const servers = await Promise.all(
  [3000, 150_000].map((at) => startServer({ ...shared, chance: chance.branch(), longFreezes: longFreezes(at) })),
);
const urls = servers.map(({ url }) => url);
const people = Array.from({ length: Number(values.people) }, () =>
  createPerson({ ...shared, urls, chance: chance.branch() })(),
);
people.push(liveInEditor({ ...shared, chance: chance.branch() }));
const jumping = jumpClock(chance.branch());
const reporting = setInterval(() => say(`${facts.sessions.size} sessions, ${ledger.faults.length} faults`), 60_000);
await Promise.all([...people, jumping, ...servers.map(({ lives }) => lives)]);
clearInterval(reporting);

writeFileSync(join(root, "clock"), "0");
const program = programs.start(["serve", "--port", "0"]);
const address = await addressOf(program);
const http = createHttpClient({ address: async () => address, token, ledger, chance, counts });
const seen = await audit({ http, ledger, facts, home });
http.hangUp();
await programs.end(program, "signal");

say(JSON.stringify({ ...counts, ...ledger.counts, ...programs.counts }));
say(`held against the logs: ${JSON.stringify(seen)}`);
const vain = ["prompts", "titles", "undos", "records", "files"].filter((kind) => seen[kind] === 0);
if (vain.length > 0) ledger.fault("run", `nothing was acknowledged: ${vain}`);
if (programs.counts.exits.length > 0) ledger.fault("run", `polite ends that were not exit 0: ${programs.counts.exits}`);
say(ledger.faults.length === 0 ? "passed" : `${ledger.faults.length} faults; the same again: --seed ${values.seed}`);
if (values.keep || ledger.faults.length > 0) say(`kept ${root}`);
else rmSync(root, { recursive: true, force: true });
process.exitCode = ledger.faults.length === 0 ? 0 : 1;

// --- internal ---

/** Years ahead, an hour back, and right again. */
async function jumpClock(own) {
  while (!isOver()) {
    await pause(own.between(1000, 8000));
    const offset = own.pick([0, 0, -3_600_000, 3_600_000, 10 * 365 * 86_400_000, -60_000, 60_000]);
    writeFileSync(join(root, "clock"), String(offset));
    counts.jumps++;
  }
}
