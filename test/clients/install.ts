// Clients from npm, each in a directory of its own.
import { spawnSync } from "node:child_process";

/** Installs packages below a directory. What npm said is in the error when it cannot. */
export function install(home: string, ...packages: readonly string[]): void {
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--prefix", home, ...packages];
  const { status, stdout, stderr } = spawnSync("npm", args, { encoding: "utf8", maxBuffer: 1 << 26 });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed:\n${`${stdout}${stderr}`.slice(-4000)}`);
}
