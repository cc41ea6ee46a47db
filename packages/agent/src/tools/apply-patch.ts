/** apply_patch: adds, deletes and updates several files in one call, in the patch language that some models are trained on. */
import * as v from "valibot";
import { type RealPath, resolvePath } from "../files/real-path.js";
import { defineTool, locate } from "./define.js";
import {
  type Change,
  currentText,
  diffOf,
  kindOf,
  publish,
  refusal,
  requireWhole,
  type Whereabouts,
} from "./edit/change.js";
import { applyHunks, type FilePatch, parsePatch } from "./edit/patch.js";

/** Models that are trained on patches. Requests declare the tool only to them, but other models may call it too. */
const TRAINED: readonly RegExp[] = [/(^|[/:])gpt-[5-9]/i, /(^|[/:-])codex/i];

export function isTrainedOnPatches(model: string): boolean {
  return TRAINED.some((name) => name.test(model));
}

export const applyPatchTool = defineTool({
  name: "apply_patch",
  description:
    "Change files with a patch: *** Begin Patch, then *** Add File: path (lines with +), *** Delete File: path, or *** Update " +
    "File: path with hunks of ' ', - and + lines, each with 3 lines of context or after @@ and a line before it; *** End Patch.",
  input: v.object({ input: v.pipe(v.string(), v.description("The whole patch.")) }),
  kind: "edit",
  parallel: false,
  describe: ({ input }, workspace) => {
    const files = pathsOf(parsePatch(input)).map((path) => resolvePath(path, workspace));
    const paths = files.map(({ path }) => path);
    return {
      title: `Patch ${files.map(({ shown }) => shown).join(", ")}`.slice(0, 200),
      locations: paths.map((path) => ({ path })),
      touches: { reads: paths, writes: paths },
    };
  },
  preview: async ({ input }, place) => {
    const all = pathsOf(parsePatch(input)).every((path) => resolvePath(path, place.workspace).inside);
    if (!all) return [];
    const changes = await changesOf(input, place, (path) => resolvePath(path, place.workspace));
    return changes.flatMap(({ file, change }) => diffOf(file, change));
  },
  run: async ({ input }, context) => {
    const changes = await changesOf(input, context, (path) => locate(path, context, "writes"));
    const content = [];
    for (const { file, change } of changes) content.push(...(await publish(file, change, context)));
    const lines = changes.map(({ file, change }) => `${SIGNS[kindOf(change)]} ${file.shown}`);
    return { success: true, output: `Done:\n${lines.join("\n")}`, content };
  },
  deferred: true,
});

// --- internal ---

function pathsOf(files: readonly FilePatch[]): string[] {
  return files.flatMap(({ path, to }) => (to === null ? [path] : [path, to]));
}

const SIGNS = { add: "A", delete: "D", update: "M" } as const;

interface FileChange {
  readonly file: RealPath;
  readonly change: Change;
}

/** Computes all changes before any file is written, so that a patch that does not fit changes nothing. */
async function changesOf(input: string, { workspace, signal }: Whereabouts, find: (path: string) => RealPath) {
  const changes: FileChange[] = [];
  const take = (path: string): RealPath => {
    const file = find(path);
    const isTaken = changes.some((other) => other.file.path === file.path);
    if (isTaken) throw refusal(`${file.shown} is in the patch twice: put all of its hunks together.`);
    return file;
  };
  const add = async (file: RealPath, after: string, advice: string) => {
    const before = await currentText(file.path, workspace);
    if (before !== null) throw refusal(`${file.shown} exists: ${advice}.`);
    changes.push({ file, change: { before, after } });
  };
  for (const { path, kind, to, text, hunks } of parsePatch(input)) {
    const file = take(path);
    if (kind === "add") {
      await add(file, text, "update it instead");
      continue;
    }
    const before = await workspace.readText(file.path);
    const mark = before.startsWith("\ufeff") ? "\ufeff" : "";
    const patched = async () => mark + (await applyHunks(before.slice(mark.length), hunks, file.shown, signal));
    const after = kind === "delete" ? null : await patched();
    if (after !== null && to !== null) await add(take(to), after, "nothing is moved over it");
    changes.push({ file, change: { before, after: to === null ? after : null } });
  }
  for (const { file, change } of changes) requireWhole(file, change);
  return changes;
}
