// The built program as child processes: started, asked, killed and started again.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { pause } from "./chance.mjs";

/** The engine that sessions may name in place of the built-in one. */
export const ENGINE = "inner";

const here = dirname(fileURLToPath(import.meta.url));
const cli = join(here, "..", "..", "apps", "otter", "dist", "cli.js");

/**
 * Everything a long run starts is started here, in one home. `live` holds what has not ended. `preload` is loaded before each program.
 * `engine` is a model's name: a program of this kind that has it is an engine of the others, by the name ENGINE.
 */
export function createPrograms({ root, token, preload = [], ttl = 5, engine }) {
  const live = new Set();
  const counts = { started: 0, killed: 0, ended: 0, exits: [] };
  const gaugeFile = join(root, "gauge.json");
  const env = {
    PATH: process.env.PATH,
    HOME: root,
    CHIMERA_HOME: join(root, "home"),
    OTTER_SERVER_TOKEN: token,
    SOAK_GAUGE: gaugeFile,
  };

  if (engine !== undefined) {
    const inner = [cli, "serve", "--acp", "--no-save", "--model", engine];
    const row = { command: process.execPath, args: inner, env: { CHIMERA_HOME: join(root, "home-of-engine") } };
    mkdirSync(env.CHIMERA_HOME, { recursive: true });
    writeFileSync(join(env.CHIMERA_HOME, "config.json"), JSON.stringify({ engines: { [ENGINE]: row } }));
  }

  function start(args, { gauge = false } = {}) {
    const loaded = gauge ? [...preload, join(here, "gauge.mjs")] : preload;
    const flags = loaded.flatMap((path) => ["--import", pathToFileURL(path).href]);
    const watch = gauge ? ["--expose-gc", ...flags] : flags;
    const child = spawn(process.execPath, [...watch, cli, ...args, "--log-level", "warn", "--session-ttl", `${ttl}`], {
      cwd: root,
      env,
    });
    counts.started++;
    live.add(child);
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr = (stderr + text).slice(-16_384);
    });
    // A write to a program that has ended needs no report: its exit does that.
    child.stdin.on("error", () => {});
    const exited = once(child, "exit").then(([code, signal]) => {
      live.delete(child);
      return signal ?? code;
    });
    return { child, exited, stderr: () => stderr };
  }

  /** Ends a program in the given way: a kill, a signal, or the end of its input. A polite end must exit with 0. */
  async function end(program, how) {
    if (how === "kill") program.child.kill("SIGKILL");
    else if (how === "signal") program.child.kill("SIGTERM");
    else program.child.stdin.end();
    const outcome = await program.exited;
    if (how === "kill") counts.killed++;
    else {
      counts.ended++;
      if (outcome !== 0) counts.exits.push(`${how}: ${outcome}: ${program.stderr().slice(-300)}`);
    }
  }

  /** One command of a person to its end: its exit code, and what it said. */
  async function run(args, { cwd = root } = {}) {
    const flags = preload.flatMap((path) => ["--import", pathToFileURL(path).href]);
    const child = spawn(process.execPath, [...flags, cli, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
    live.add(child);
    const [code] = await once(child, "close");
    live.delete(child);
    return { code, said };
  }

  /** The memory of a gauged program after a garbage collection. */
  async function gauge({ child }) {
    rmSync(gaugeFile, { force: true });
    child.kill("SIGUSR2");
    for (let i = 0; i < 100; i++) {
      await pause(100);
      try {
        return JSON.parse(readFileSync(gaugeFile, "utf8"));
      } catch {
        // Not there yet, or half written.
      }
    }
    throw new Error("the gauged program does not answer");
  }

  /** What a person does now and then; with it goes what the killed ones left. */
  function tidy() {
    execFileSync(process.execPath, [cli, "sessions", "gc"], { cwd: root, env });
  }

  return { start, end, run, gauge, tidy, live, counts };
}

/** The address a server prints when it listens. */
export async function addressOf({ child, exited, stderr }) {
  for (;;) {
    const address = /http:\/\/[^\s]+/.exec(stderr())?.[0];
    if (address) return address;
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended early: ${stderr()}`);
    await Promise.race([once(child.stderr, "data"), exited, pause(1000)]);
  }
}
