// Servers of a cluster as processes of their own, which are killed, frozen and asked to end.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pause } from "../soak/chance.mjs";

const apps = process.env.CHIMERA_APPS ?? resolve(import.meta.dirname, "../../apps");
const cli = join(apps, "otter/dist/cli.js");

export async function startNodes({ count, store, chance }) {
  const root = mkdtempSync(join(tmpdir(), "chimera-cluster-"));
  const workspace = join(root, "workspace");
  mkdirSync(workspace);
  const script = join(root, "script.json");
  const turn = { steps: [{ reply: [{ text: "word ".repeat(20), chunks: 20, delayMs: 25 }] }] };
  writeFileSync(script, JSON.stringify({ repeat: true, turns: [turn] }));
  let made = 0;

  const start = async () => {
    const home = join(root, `home-${++made}`);
    const args = ["serve", "--port", "0", "--store", store, "--workspace-host", "shared", "--log-level", "error"];
    const child = spawn(process.execPath, [cli, ...args, "--model", `scripted:${script}`], {
      cwd: workspace,
      env: { PATH: process.env.PATH, HOME: home, CHIMERA_HOME: home },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const exited = new Promise((end) => child.once("exit", end));
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (chunk) => {
      text = (text + chunk).slice(-4000);
    });
    let address;
    await until(
      "a server answers",
      async () => {
        if (child.exitCode !== null) throw new Error(`a server ended: ${text}`);
        [, address] = /listening on (http:\S+)/.exec(text) ?? [];
        return address && (await fetch(`${address}/info`).catch(() => null))?.ok;
      },
      60_000,
    );
    return { child, address, exited, isUp: true };
  };

  const all = await Promise.all(Array.from({ length: count }, start));
  return {
    all,
    any: () => chance.pick(all.filter(({ isUp }) => isUp)),
    /** Puts a new one in the place of one that is gone. */
    async replace(node) {
      all[all.indexOf(node)] = await start();
    },
    async stop() {
      for (const { child } of all) child.kill("SIGTERM");
      await Promise.all(all.map(({ exited }) => exited));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

export async function until(what, isSo, ms = 30_000) {
  const end = performance.now() + ms;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await pause(20);
  }
}
