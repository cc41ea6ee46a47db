// What runs on this machine, as `ps` tells it.
import { execFileSync } from "node:child_process";

/** The command lines of a process's children. */
export function childrenOf(pid: number): string[] {
  return listing().flatMap(({ parent, command }) => (parent === pid ? [command] : []));
}

/** Processes whose command line contains the text. */
export function processesWith(text: string): string[] {
  return listing().flatMap(({ command }) => (command.includes(text) ? [command] : []));
}

// --- internal ---

function listing(): { parent: number; command: string }[] {
  const lines = execFileSync("ps", ["-eo", "ppid=,args="], { encoding: "utf8" }).split("\n");
  return lines
    .map((line) => /^\s*(\d+)\s+(.*)$/.exec(line))
    .flatMap((match) => (match ? [{ parent: Number(match[1]), command: match[2]! }] : []))
    .filter(({ command }) => !command.startsWith("ps -eo"));
}
