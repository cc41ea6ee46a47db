#!/usr/bin/env node
// Runs bench/*.bench.mjs one after another; `npm run bench -- rpc` runs those whose name contains "rpc".
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { cleanEnv } from "../bench/report.mjs";
import { repositoryRoot as root } from "./gate.mjs";

const filters = process.argv.slice(2);
const files = readdirSync(join(root, "bench"))
  .filter((name) => name.endsWith(".bench.mjs"))
  .filter((name) => filters.length === 0 || filters.some((filter) => name.includes(filter)));

if (files.length === 0) {
  console.error(`no bench is named like ${filters.join(" or ")}`);
  process.exitCode = 2;
}

console.log("name | ours | floor | ratio | target");
for (const file of files) {
  const child = spawn(process.execPath, [join(root, "bench", file)], {
    cwd: root,
    env: cleanEnv(),
    stdio: ["ignore", "inherit", "inherit"],
  });
  const code = await new Promise((resolve) => child.on("exit", resolve));
  if (code !== 0) {
    console.error(`${file} ended with ${code}`);
    process.exitCode = 1;
  }
}
