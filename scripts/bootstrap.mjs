#!/usr/bin/env node
// `npm start`, `npm test`, `npm run build` and the like on a machine that has only Node and npm: installs with pnpm
// (fetched by npm), builds with turbo, then does the job. Set-up output goes to stderr; stdout belongs to the job.
import { spawn } from "node:child_process";
import { accessSync, constants, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installPrograms } from "./install-programs.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const say = (text) => process.stderr.write(`[setup] ${text}\n`);

const jobs = {
  build: prepare,
  async start(args) {
    await prepare();
    const { main } = await import("./start.mjs");
    await main(args);
  },
  test: (args) => runTests("scripts/test.mjs", args, installPrograms),
  "test-changed": (args) => runTests("scripts/test-changed.mjs", args),
  async bench(args) {
    await prepare();
    process.exitCode = await withPnpm([process.execPath, "bench/bench.mjs", ...args], "inherit");
  },
};

async function main([name = "start", ...args]) {
  const required = manifest.engines.node.replace(/[^\d.]/g, "");
  if (isOlder(process.versions.node, required)) {
    console.error(`This project needs Node ${required} or newer; this is ${process.version}. See https://nodejs.org`);
    process.exitCode = 1;
    return;
  }
  if (!Object.hasOwn(jobs, name)) {
    console.error(`unknown job ${name}: one of ${Object.keys(jobs).join(", ")}`);
    process.exitCode = 2;
    return;
  }
  leaveWithParent();
  try {
    ensureHome();
    await jobs[name](args);
  } catch (error) {
    say(error.message);
    process.exitCode = 1;
  }
}

/** The last line is a verdict even when the tests cannot begin. */
async function runTests(script, args, before = async () => {}) {
  try {
    await before(say);
    await prepare();
  } catch (error) {
    say(error.message);
    console.log("0 passed, 1 failed");
    process.exitCode = 1;
    return;
  }
  process.exitCode = await withPnpm([process.execPath, script, ...args], "inherit");
}

async function prepare() {
  const started = Date.now();
  const install = ["pnpm", "install", "--frozen-lockfile", "--prefer-offline", "--reporter=append-only"];
  await step("installing dependencies (up to a minute the first time)", install);
  await step("building", ["pnpm", "exec", "turbo", "run", "build", "--output-logs=errors-only"]);
  say(`ready after ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

async function step(label, command) {
  say(label);
  const started = Date.now();
  const reminder = setInterval(() => say(`still ${label}: ${Math.round((Date.now() - started) / 1000)} s`), 20_000);
  try {
    const code = await withPnpm(command, process.stderr);
    if (code !== 0) throw new Error(`\`${command.join(" ")}\` ended with exit code ${code}`);
  } finally {
    clearInterval(reminder);
  }
}

/**
 * Runs a command with pnpm on its PATH and gives its exit code. The command is a process group of its own, and ends when
 * this process is asked to end: `npm exec` passes no signals on.
 */
function withPnpm(command, stdout) {
  const npm = process.env.npm_execpath;
  const args = ["exec", "--yes", "--prefer-offline", `--package=${manifest.packageManager}`, "--", ...command];
  // npm is called by its own script, which works where `npm` is a .cmd file.
  const [program, list] = npm?.endsWith(".js") ? [process.execPath, [npm, ...args]] : ["npm", args];
  const isGroup = process.platform !== "win32";
  return new Promise((resolve, reject) => {
    const child = spawn(program, list, {
      cwd: root,
      env: environment(),
      stdio: ["ignore", stdout, "inherit"],
      detached: isGroup,
    });
    const leave = (signal) => {
      process.kill(isGroup ? -child.pid : child.pid, "SIGTERM");
      process.exit(signal === "SIGINT" ? 130 : 143);
    };
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
    for (const signal of signals) process.on(signal, leave);
    const settle = (done) => (value) => {
      for (const signal of signals) process.off(signal, leave);
      done(value);
    };
    child.on("error", settle(reject));
    child.on(
      "exit",
      settle((code) => resolve(code ?? 1)),
    );
  });
}

function environment() {
  return {
    ...process.env,
    // Turbo's cache key leaves the Node version out unless it is given.
    BUILD_NODE: process.version,
    TURBO_TELEMETRY_DISABLED: "1",
    DO_NOT_TRACK: "1",
    npm_config_loglevel: "error",
  };
}

/** An account such as `nobody` has a home that does not exist; npm and pnpm need one to keep what they fetch. */
function ensureHome() {
  try {
    accessSync(homedir(), constants.W_OK);
  } catch {
    const home = join(root, "node_modules", ".cache", "home");
    say(`${homedir() || "an empty HOME"} cannot be written: using ${home} instead`);
    mkdirSync(home, { recursive: true });
    Object.assign(process.env, { HOME: home, npm_config_cache: join(home, ".npm") });
  }
}

/** The shell that npm runs a script under keeps signals to itself: leave when it, or npm above it, has gone. */
function leaveWithParent() {
  const parents = [process.ppid, parentOf(process.ppid)];
  const watch = setInterval(() => {
    if (process.ppid === parents[0] && parentOf(parents[0]) === parents[1]) return;
    clearInterval(watch);
    process.kill(process.pid, "SIGTERM");
  }, 500);
  watch.unref();
}

/** A process's parent where the system tells it cheaply (Linux), else undefined. */
function parentOf(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(status.slice(status.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}

function isOlder(version, required) {
  const [a, b] = [version, required].map((one) => one.split(".").map(Number));
  return a[0] !== b[0] ? a[0] < b[0] : a[1] < b[1];
}

await main(process.argv.slice(2));
