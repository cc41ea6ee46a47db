#!/usr/bin/env node
// Runs bench/*.bench.mjs one after another; `npm run bench -- rpc` runs those whose name contains "rpc", and with --write
// the figures of a run of all of them go into bench/README.md.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { repositoryRoot as root } from "../scripts/gate.mjs";
import { cleanEnv } from "./report.mjs";

const HEAD = "name | ours | floor | ratio | target";
const { values, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: { write: { type: "boolean", default: false } },
});
const files = readdirSync(join(root, "bench"))
  .filter((name) => name.endsWith(".bench.mjs"))
  .filter((name) => filters.length === 0 || filters.some((filter) => name.includes(filter)));

if (files.length === 0) {
  console.error(`no bench is named like ${filters.join(" or ")}`);
  process.exitCode = 2;
}

console.log(HEAD);
let figures = "";
for (const file of files) {
  const child = spawn(process.execPath, ["--expose-gc", join(root, "bench", file)], {
    cwd: root,
    env: cleanEnv(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout.setEncoding("utf8").on("data", (text) => {
    figures += text;
    process.stdout.write(text);
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) {
    console.error(`${file} ended with ${code}`);
    process.exitCode = 1;
  }
}
if (values.write) writeFigures();

// --- internal ---

/** Puts the figures between the marks of the README, with what they were measured on. */
function writeFigures() {
  const path = join(root, "bench", "README.md");
  const rows = figures.split("\n").filter((line) => line.split(" | ").length === 5);
  const when = `Node ${process.versions.node}, ${cpus().length} cores, ${new Date().toISOString().slice(0, 10)}:`;
  const table = [when, "", `| ${HEAD} |`, "|---|---|---|---|---|", ...rows.map((line) => `| ${line} |`)].join("\n");
  const text = readFileSync(path, "utf8");
  writeFileSync(
    path,
    text.replace(/(<!-- figures -->\n)[\s\S]*(<!-- end -->)/, (_, from, to) => `${from}${table}\n${to}`),
  );
}
