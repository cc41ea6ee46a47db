// The processes of this machine: from /proc where it exists, else from `ps`.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** The command lines of a process's children. */
export function childrenOf(pid: number): string[] {
  return listing().flatMap(({ parent, command }) => (parent === pid ? [command] : []));
}

/** Processes whose command line contains the text. */
export function processesWith(text: string): string[] {
  return listing().flatMap(({ command }) => (command.includes(text) ? [command] : []));
}

// --- internal ---

interface Listed {
  readonly parent: number;
  readonly command: string;
}

function listing(): Listed[] {
  return existsSync("/proc/self/stat") ? fromProc() : fromPs();
}

function fromProc(): Listed[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      // The name in parentheses may itself hold anything.
      const [, parent] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trimEnd();
      return [{ parent: Number(parent), command }];
    } catch {
      return [];
    }
  });
}

function fromPs(): Listed[] {
  const lines = execFileSync("ps", ["-eo", "ppid=,args="], { encoding: "utf8" }).split("\n");
  return lines
    .map((line) => /^\s*(\d+)\s+(.*)$/.exec(line))
    .flatMap((match) => (match ? [{ parent: Number(match[1]), command: match[2]! }] : []))
    .filter(({ command }) => !command.startsWith("ps -eo"));
}
