#!/usr/bin/env node
// This build beside that of a commit: `npm run bench:compare -- [commit] [--pairs 30] [--rows text] [--json file]`. Every figure is
// taken in pairs, one life of each build after the other. It fails when a row is worse by more than 5 %, and that surely.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { repositoryRoot } from "../scripts/gate.mjs";
import { buildCommit } from "./build-commit.mjs";
import { startChatModel } from "./chat-model.mjs";
import { LIVES } from "./lives.mjs";
import { pairedDifference } from "./paired.mjs";
import { figure, interleave, median } from "./report.mjs";

/** The last commit before the work that is measured against it. */
const BASELINE = "b06a4b9";
/** How much worse a row may be for certain. */
const BOUND = 0.05;

async function main() {
  const { commit, pairs, filter, json } = readArguments();
  if (!existsSync(join(repositoryRoot, "apps", "otter", "dist"))) throw new UsageError("build first: npm run build");
  const baseline = await buildCommit(commit);
  const scratch = mkdtempSync(join(tmpdir(), "chimera-compare-"));
  process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
  const model = await startChatModel();
  console.log(`row | ${baseline.hash.slice(0, 7)} | this | worse by (95 % interval) | verdict`);
  const rows = [];
  for (const life of LIVES.filter(({ rows }) => Object.keys(rows).some((name) => name.includes(filter)))) {
    const builds = {
      baseline: placeOf(baseline.directory, join(scratch, "baseline"), model.url),
      current: placeOf(repositoryRoot, join(scratch, "current"), model.url),
    };
    const measured = (await compareLife(life, builds, pairs)).filter(({ name }) => name.includes(filter));
    for (const row of measured) console.log(describe(row));
    rows.push(...measured);
  }
  await model.close();
  const worse = rows.filter(({ difference }) => difference && difference.low > BOUND);
  if (json !== undefined) {
    const machine = { node: process.versions.node, cpu: cpus()[0]?.model, cpus: cpus().length };
    const about = { baseline: baseline.hash, when: new Date().toISOString(), pairs, ...machine };
    writeFileSync(json, `${JSON.stringify({ ...about, rows }, null, 1)}\n`);
  }
  console.log(worse.length === 0 ? "no row is surely worse" : `worse: ${worse.map(({ name }) => name).join("; ")}`);
  process.exitCode = worse.length === 0 ? 0 : 1;
}

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      pairs: { type: "string", default: "30" },
      rows: { type: "string", default: "" },
      json: { type: "string" },
    },
  });
  const pairs = Number(values.pairs);
  if (!Number.isSafeInteger(pairs) || pairs < 1) throw new UsageError(`--pairs takes a number, not ${values.pairs}`);
  if (positionals.length > 1) throw new UsageError("one commit at a time");
  const isNamed = LIVES.some(({ rows }) => Object.keys(rows).some((name) => name.includes(values.rows)));
  if (!isNamed) throw new UsageError(`no row is named like ${values.rows}`);
  return { commit: positionals[0] ?? BASELINE, pairs, filter: values.rows, json: values.json };
}

class UsageError extends Error {}

/** A build with a place to live at: `enter()` empties what a life must find empty. */
function placeOf(build, directory, modelUrl) {
  const [home, cwd, kept] = ["home", "work", "kept"].map((name) => join(directory, name));
  mkdirSync(kept, { recursive: true });
  return {
    home,
    cwd,
    kept,
    modelUrl,
    program: (app) => join(build, "apps", app, "dist", "cli.js"),
    enter() {
      for (const path of [home, cwd]) {
        rmSync(path, { recursive: true, force: true });
        mkdirSync(path);
      }
    },
  };
}

/** Its rows with the samples of both builds; without those of a baseline that cannot live so yet. */
async function compareLife({ rows, live }, { baseline, current }, pairs) {
  const once = (place) => {
    place.enter();
    return live(place);
  };
  const attempt = (place) =>
    once(place).then(
      () => null,
      (error) => error,
    );
  const [without, failure] = [await attempt(baseline), await attempt(current)];
  if (failure && without) return [];
  if (failure) throw failure;
  const contestants = { ...(!without && { baseline: () => once(baseline) }), current: () => once(current) };
  const samples = await interleave(contestants, {
    runs: pairs,
    warmup: 0,
    onRound: showRound(Object.keys(rows)[0], pairs),
  });
  return Object.entries(rows).map(([name, { unit, better }], at) => {
    const of = (who) => samples[who]?.map((figures) => figures[at]);
    const row = { name, unit, better, baseline: of("baseline"), current: of("current") };
    if (without) return { ...row, without: without.message };
    return { ...row, difference: pairedDifference(row.baseline, row.current, { better }) };
  });
}

function showRound(name, pairs) {
  if (!process.stderr.isTTY) return undefined;
  return (round) => process.stderr.write(`\r\x1b[K${round < pairs ? `${name} and others: ${round} of ${pairs}` : ""}`);
}

function describe({ name, unit, baseline, current, difference, without }) {
  const shown = (samples) => `${figure(median(samples))} ${unit}`;
  if (without !== undefined) return `${name} | - | ${shown(current)} | - | new`;
  const percent = (share) => (Number.isFinite(share) ? `${share > 0 ? "+" : ""}${(share * 100).toFixed(1)} %` : "?");
  const { median: middle, low, high } = difference;
  const verdict = low > BOUND ? "WORSE" : high > BOUND ? "unsure" : high < -BOUND ? "better" : "";
  return `${name} | ${shown(baseline)} | ${shown(current)} | ${percent(middle)} (${percent(low)} to ${percent(high)}) | ${verdict}`;
}

try {
  await main();
} catch (error) {
  const isUsage = error instanceof UsageError || error.code?.startsWith("ERR_PARSE_ARGS");
  console.error(error.message);
  process.exitCode = isUsage ? 2 : 1;
}
