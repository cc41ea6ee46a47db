// The descriptors, processes and files that a process and a run leave on the machine.
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";

/** Open descriptors of a process, by what they lead to. */
export function descriptorsOf(pid) {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).map((name) => {
    try {
      return readlinkSync(join(folder, name));
    } catch {
      return "gone";
    }
  });
}

/** Command lines of the processes that carry the text in theirs or in their environment, but for this one. */
export function processesWith(text) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        const carries = command.includes(text) || readFileSync(`/proc/${pid}/environ`, "utf8").includes(text);
        return carries && command ? [`${pid} ${command}`] : [];
      } catch {
        return [];
      }
    });
}

/** Files below a folder with their sizes. */
export function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath ?? entry.path, entry.name);
      return { path, bytes: statSync(path).size };
    });
}
