#!/usr/bin/env node
// `npm start`, `npm test`, `npm run build` and `npm run bench` on a machine that has only Node and npm: installs with pnpm
// (fetched by npm), builds with turbo, then does the job. Set-up output goes to stderr; stdout belongs to the job.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const [job = "start", ...args] = process.argv.slice(2);

const required = manifest.engines.node.replace(/[^\d.]/g, "");
const isOlder = (a, b) => {
  const [x, y] = [a, b].map((v) => v.split(".").map(Number));
  return x[0] !== y[0] ? x[0] < y[0] : x[1] < y[1];
};
if (isOlder(process.versions.node, required)) {
  console.error(`This project needs Node ${required} or newer; this is ${process.version}. See https://nodejs.org`);
  process.exit(1);
}

const say = (text) => process.stderr.write(`[setup] ${text}\n`);
const env = {
  ...process.env,
  // Turbo's cache key leaves the Node version out unless it is told.
  BUILD_NODE: process.version,
  TURBO_TELEMETRY_DISABLED: "1",
  DO_NOT_TRACK: "1",
  // npm turns its own settings into variables that pnpm does not know and warns about.
  npm_config_loglevel: "error",
};

/** Runs a shell line with pnpm on its PATH; npm is called by its own script, which works where `npm` is a .cmd file. */
function pnpm(line) {
  const npm = process.env.npm_execpath;
  const head = ["exec", "--yes", "--prefer-offline", `--package=${manifest.packageManager}`, "-c", line];
  const [command, list] = npm?.endsWith(".js") ? [process.execPath, [npm, ...head]] : ["npm", head];
  return new Promise((resolve, reject) => {
    const child = spawn(command, list, { cwd: root, env, stdio: ["ignore", 2, 2] });
    child.on("error", reject);
    child.on("exit", (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`\`${line}\` ended with ${signal ?? `exit code ${code}`}`)),
    );
  });
}

async function prepare(tasks) {
  const started = Date.now();
  say("installing dependencies (the first time takes up to a minute)");
  await pnpm("pnpm install --frozen-lockfile --prefer-offline --reporter=append-only");
  say(`building: turbo run ${tasks.join(" ")}`);
  await pnpm(`pnpm exec turbo run ${tasks.join(" ")} --output-logs=errors-only`);
  say(`ready after ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

/** `npm start` runs under a shell that keeps signals to itself: leave when the parent has gone. */
function leaveWithParent() {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, "SIGTERM");
  }, 500).unref();
}

try {
  switch (job) {
    case "start": {
      await prepare(["build"]);
      leaveWithParent();
      const { main } = await import(pathToFileURL(join(root, "scripts", "start.mjs")).href);
      await main(args);
      break;
    }
    case "build":
      await prepare(["build"]);
      break;
    case "test":
    case "bench": {
      await prepare(["build", "typecheck"]);
      await pnpm(`node scripts/${job}.mjs ${args.join(" ")}`);
      break;
    }
    default:
      console.error(`unknown job ${job}`);
      process.exitCode = 2;
  }
} catch (error) {
  console.error(`[setup] ${error.message}`);
  process.exitCode = 1;
}
