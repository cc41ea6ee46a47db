// Where a client from npm is installed and run: a directory of its own, which goes when the client has gone.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { processesWith } from "./processes.js";

/** Installs packages below a directory. What npm said is in the error when it cannot. */
export function install(home: string, ...packages: readonly string[]): void {
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--prefix", home, ...packages];
  const { status, stdout, stderr } = spawnSync("npm", args, { encoding: "utf8", maxBuffer: 1 << 26 });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed:\n${`${stdout}${stderr}`.slice(-4000)}`);
}

/** Removes a directory once no process names it: a program that its client has left still writes its last records. */
export async function removeHome(home: string): Promise<void> {
  for (let tries = 0; tries < 300 && processesWith(home).length > 0; tries++) await pause(100);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
