/** Brings the index of a root up to date: it compares times and reads only changed files. */
import { accessSync, constants } from "node:fs";
import { orElse } from "../errors.js";
import type { IgnoreRules } from "./ignore-rules.js";
import { addFile, checkFile } from "./indexed-file.js";
import { type Listing, listDirectory, settleListing } from "./listing.js";
import { noteSkipped } from "./observed-command.js";
import type { ScanContext } from "./scan-context.js";
import { type DirectoryNode, pathIn } from "./tree.js";

interface Visit {
  readonly directory: DirectoryNode;
  readonly parentRules: IgnoreRules;
  /** True when the directory's content before this scan is known. */
  readonly charted: boolean;
}

/** Scans the whole root breadth-first. When it stops early, the next scan continues. */
export async function scan(context: ScanContext): Promise<void> {
  const { root, usage, found, deadline } = context;
  usage.scans += 1;
  const queue: Visit[] = [
    {
      directory: root,
      parentRules: context.rulesAbove,
      charted: root.mtimeMs === null ? !root.unreadable : root.complete,
    },
  ];
  for (const visit of queue) {
    const { directory, charted } = visit;
    if (directory.mtimeMs === null && directory !== root) {
      if (!charted && !context.explore) {
        if (directory.unreadable && isReadable(directory)) noteSkipped(context.runs, directory.path, "unreadable");
        continue;
      }
      if (performance.now() > deadline) {
        found.truncated = "time_limit";
        continue;
      }
    }
    try {
      const listing = await listDirectory(context, directory, visit.parentRules, charted);
      await addFiles(context, visit, listing);
      await checkFiles(context, directory, listing.suspects);
    } catch (error) {
      // The suspects were taken but not all checked, so the next scan must check all of its files.
      directory.watch?.close();
      directory.watch = null;
      throw error;
    }
    for (const child of directory.dirs.values()) {
      const isNew = child.scan === usage.scans;
      const known = child.mtimeMs === null ? charted && isNew : child.complete;
      queue.push({ directory: child, parentRules: directory.rules, charted: known });
    }
  }
}

// --- internal ---

function isReadable(directory: DirectoryNode): boolean {
  return orElse(() => accessSync(directory.address, constants.R_OK | constants.X_OK) ?? true, false);
}

async function addFiles(
  context: ScanContext,
  { directory, charted }: Visit,
  { fresh, oldRules, whole }: Listing,
): Promise<void> {
  const { usage, limits, found, pacer, deadline } = context;
  if (!charted && !context.explore) return;
  for (const name of fresh) {
    const limit = usage.files >= limits.baselineFiles ? "quota" : performance.now() > deadline ? "time_limit" : null;
    if (limit !== null) {
      found.truncated = limit;
      return;
    }
    const ignored = oldRules?.ignores(pathIn(directory, name), false) === true;
    await addFile(context, directory, name, !charted ? "uncharted" : ignored ? "ignored_before" : "absent");
    const pause = pacer.pause();
    if (pause !== null) {
      context.onPause();
      await pause;
    }
  }
  if (whole && !directory.complete && directory.mtimeMs !== null) settleListing(context, directory);
}

async function checkFiles(
  context: ScanContext,
  directory: DirectoryNode,
  suspects: ReadonlySet<string> | null,
): Promise<void> {
  for (const name of suspects ?? directory.files.keys()) {
    const node = directory.files.get(name);
    const reading =
      node !== undefined && node.scan !== context.usage.scans ? checkFile(context, directory, name, node) : null;
    if (reading !== null) await reading;
    const pause = context.pacer.pause();
    if (pause !== null) await pause;
  }
}
