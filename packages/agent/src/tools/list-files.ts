/** list_files: lists all files below a directory, except those that git would ignore. */
import { lstat, opendir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { compileGlob } from "@chimera/acp-schema/glob";
import type { IgnoreRules, Pacer } from "@chimera/snapshot-store/files";
import * as v from "valibot";
import { defineTool, describeFile, failure, locate } from "./define.js";

const MAX_FILES = 1000;
/** Most steps for matching one path. If the pattern needs more, the path does not match. */
const MAX_STEPS = 200_000;

export const listFilesTool = defineTool({
  name: "list_files",
  aliases: ["Glob", "LS"],
  description:
    "List the files of a directory and of all directories below it, one path a line. What .gitignore leaves out is left " +
    `out; at most ${MAX_FILES} paths.`,
  input: v.object({
    path: v.optional(v.pipe(v.string(), v.description("The directory; the workspace when left out.")), "."),
    glob: v.optional(v.pipe(v.string(), v.description("Only paths like this: *.ts, src/**/*.test.ts, {a,b}/*.md."))),
  }),
  kind: "search",
  parallel: true,
  describe: (input, workspace) => describeFile("List", input.path, workspace, "reads"),
  run: async (input, context) => {
    const directory = locate(input.path, context, "reads");
    if (!(await lstat(directory.path)).isDirectory()) return failure(`${directory.shown} is not a directory.`);
    const wanted = fileFilter(input.glob);
    const prefix = directory.shown === "." ? "" : `${directory.shown}/`;
    const found: string[] = [];
    let more = false;
    for await (const path of walk(directory.path, context.signal)) {
      if (!wanted(path)) continue;
      more = found.length === MAX_FILES;
      if (more) break;
      found.push(prefix + path);
    }
    if (found.length === 0) return { success: true, output: "No files." };
    const notice = more ? `\n[more than ${MAX_FILES} files: narrow it with path or glob]` : "";
    return { success: true, output: found.join("\n") + notice };
  },
});

/** A pattern without a slash matches the file's name in any directory. */
export function fileFilter(glob: string | undefined): (path: string) => boolean {
  if (glob === undefined) return () => true;
  const matches = compileGlob(glob.includes("/") ? glob.replace(/^\.?\//, "") : `**/${glob}`, "path");
  return (path) => matches(path, { left: MAX_STEPS }) === true;
}

const NEVER = new Set([".git", ".hg", ".svn", "node_modules"]);
/** Entries that are read and sorted at once. */
const BATCH = 2048;

/** Walks a directory without following links, and skips what `.gitignore` excludes. Yields paths relative to `root`, sorted by name. */
export async function* walk(root: string, signal: AbortSignal): AsyncGenerator<string> {
  const { createPacer, readIgnoreFile, rulesBelow } = await import("@chimera/snapshot-store/files");
  const tour = { root, pacer: createPacer(signal), readIgnoreFile, rulesBelow, signal };
  yield* visit(root, tour, { ignores: () => false });
}

// --- internal ---

interface Tour extends Pick<typeof import("@chimera/snapshot-store/files"), "readIgnoreFile" | "rulesBelow"> {
  readonly root: string;
  readonly pacer: Pacer;
  readonly signal: AbortSignal;
}

interface Entry {
  readonly name: string;
  readonly kind: "directory" | "file" | "other";
}

async function* visit(directory: string, tour: Tour, above: IgnoreRules): AsyncGenerator<string> {
  tour.signal.throwIfAborted();
  const entries = await entriesOf(directory, tour);
  const text = entries.some(({ name, kind }) => name === ".gitignore" && kind === "file")
    ? tour.readIgnoreFile(join(directory, ".gitignore"))
    : "";
  const rules = tour.rulesBelow(above, slashed(directory), text);
  for (const { name, kind } of entries) {
    await tour.pacer.pause();
    const path = join(directory, name);
    const isDirectory = kind === "directory";
    if ((isDirectory && NEVER.has(name)) || rules.ignores(slashed(path), isDirectory)) continue;
    if (isDirectory) yield* visit(path, tour, rules);
    else if (kind === "file") yield slashed(relative(tour.root, path));
  }
}

/** Reads in batches, because a directory may have a million entries. Below the root, an unreadable directory counts as empty. */
async function entriesOf(directory: string, { root, pacer }: Tour): Promise<Entry[]> {
  const batches: Entry[][] = [[]];
  try {
    const opened = await opendir(directory, { bufferSize: BATCH });
    try {
      for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
        const isFile = entry.isFile() || entry.isSymbolicLink();
        batches.at(-1)?.push({ name: entry.name, kind: entry.isDirectory() ? "directory" : isFile ? "file" : "other" });
        if (batches.at(-1)?.length === BATCH) batches.push([]);
        await pacer.pause();
      }
    } finally {
      opened.closeSync();
    }
  } catch (error) {
    if (directory === root) throw error;
  }
  return sorted(batches, pacer);
}

/** Sorts each batch, then merges pairs of batches until one is left. */
async function sorted(batches: readonly Entry[][], pacer: Pacer): Promise<Entry[]> {
  for (const batch of batches) {
    batch.sort((a, b) => (a.name < b.name ? -1 : 1));
    await pacer.pause();
  }
  let runs = batches;
  while (runs.length > 1) {
    const merged: Entry[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(await merge(runs[at] as Entry[], runs[at + 1] ?? [], pacer));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge(a: readonly Entry[], b: readonly Entry[], pacer: Pacer): Promise<Entry[]> {
  const all: Entry[] = [];
  for (let [inA, inB] = [0, 0]; inA < a.length || inB < b.length; ) {
    const [first, second] = [a[inA], b[inB]];
    const takeA = second === undefined || (first !== undefined && first.name < second.name);
    all.push((takeA ? first : second) as Entry);
    if (takeA) inA += 1;
    else inB += 1;
    if (all.length % BATCH === 0) await pacer.pause();
  }
  return all;
}

function slashed(path: string): string {
  return sep === "/" ? path : path.replaceAll(sep, "/");
}
