/** Edit: replaces passages of a text file. edit/place.ts finds a passage; edit/fit.ts makes the text that replaces it. */
import * as v from "valibot";
import { AgentError, isAgentError } from "../errors.js";
import type { RealPath } from "../files/real-path.js";
import { defineChange, refusal, type Whereabouts } from "./edit/change.js";
import type { Found, FoundPassage, Rung } from "./edit/climb.js";
import type { Splice } from "./edit/fit.js";
import { withoutNumbers } from "./edit/line-numbers.js";

export const editTool = defineChange({
  name: "Edit",
  aliases: ["edit_file", "MultiEdit", "replace"],
  description:
    "Replace a passage of a text file: old_string as it stands there, whole lines if possible, with enough around it to occur " +
    "once. For several passages of one file send edits; all are looked for in the file as it is, and all are made or none.",
  input: v.object({
    path: v.string(),
    old_string: v.optional(v.pipe(v.string(), v.description("The text to replace, without line numbers."))),
    new_string: v.optional(v.string()),
    replace_all: v.optional(v.boolean()),
    edits: v.optional(
      v.array(v.object({ old_string: v.string(), new_string: v.string(), replace_all: v.optional(v.boolean()) })),
    ),
  }),
  verb: "Edit",
  change: editOf,
  done: (file, { note }) => `Edited ${file.shown}.${note}`,
});

// --- internal ---

interface Edit {
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all?: boolean | undefined;
}

type EditInput = { readonly path: string; readonly edits?: readonly Edit[] | undefined } & {
  readonly [Key in keyof Edit]?: Edit[Key] | undefined;
};

async function editOf(input: EditInput, file: RealPath, { workspace, signal }: Whereabouts) {
  // Imported with the first edit, because many sessions make none.
  const { spliced } = await import("./edit/fit.js");
  const before = await workspace.readText(file.path);
  const mark = before.startsWith(MARK) ? MARK : "";
  const text = before.slice(mark.length);
  const edits = mark === "" ? editsIn(input) : editsIn(input).map(withoutMark);
  const splices: Splice[] = [];
  for (const [at, edit] of edits.entries()) {
    const label = edits.length === 1 ? "" : `Edit ${at + 1} of ${edits.length}: `;
    splices.push(
      ...(await splicesOf(edit, text, file.shown, signal).catch((error) => Promise.reject(named(label, error)))),
    );
  }
  const after = mark + spliced(text, splices);
  if (after === before) throw refusal(`Nothing in ${file.shown} would change: it already reads like that.`);
  const rungs = [...new Set(splices.map(({ rung }) => DIFFERENCES[rung]))].filter((name) => name !== null);
  return { before, after, note: rungs.length === 0 ? "" : ` It differed from old_string in ${rungs.join(" and ")}.` };
}

const MARK = "\ufeff";

/** The edit without the file's own mark, which stays where it is. */
function withoutMark(edit: Edit): Edit {
  const without = (part: string) => (part.startsWith(MARK) ? part.slice(MARK.length) : part);
  return { ...edit, old_string: without(edit.old_string), new_string: without(edit.new_string) };
}

/** Words for the model on how the place differed from old_string. */
const DIFFERENCES: Readonly<Record<Rung, string | null>> = {
  exact: null,
  endings: null,
  ends: null,
  trailing: "blanks at line ends",
  lookalikes: "characters that look alike",
  indentation: "indentation, which was kept",
  blanks: "blanks",
};

function editsIn({ old_string: old, new_string: replacement, replace_all, edits = [] }: EditInput): readonly Edit[] {
  if (old === undefined && replacement === undefined && edits.length > 0) return edits;
  if (old === undefined || replacement === undefined) throw refusal("Give old_string and new_string, or edits.");
  return [{ old_string: old, new_string: replacement, replace_all }, ...edits];
}

async function splicesOf(edit: Edit, text: string, name: string, signal: AbortSignal): Promise<Splice[]> {
  const { old_string: old, new_string: replacement, replace_all: isAll = false } = edit;
  if (old === "") throw refusal("old_string is empty: use Write to make or replace a file.");
  if (old === replacement) throw refusal("old_string and new_string are the same.");
  const [{ findPassage }, { fitPassage }] = await Promise.all([import("./edit/place.js"), import("./edit/fit.js")]);
  const most = isAll ? MAX_REPLACED : MAX_PLACES;
  let found = await findPassage(text, old, { most, signal });
  let wanted = { old, replacement };
  if (found.places.length === 0) {
    const bare = withoutNumbers(old, replacement);
    const again = bare && (await findPassage(text, bare.old, { most, signal }));
    // The line number must be right too. Otherwise it is part of the text and only looks like a line number.
    const places = again?.places.filter(({ line }) => line === bare?.line) ?? [];
    if (again && bare && again.places.length === 1 && places.length === 1) [found, wanted] = [again, bare];
  }
  if (found.places.length === 0) throw missing(name, found);
  if (!isAll && found.places.length > 1) throw ambiguous(name, found);
  if (found.places.length > MAX_REPLACED)
    throw refusal(`old_string occurs more than ${MAX_REPLACED} times in ${name}.`);
  const splices: Splice[] = [];
  const fitted = new Map<string, string>();
  for (const place of apart(found.places)) {
    // Places that read the same, with the same line ending after them, get the same text.
    const reads = text.slice(place.start, text.indexOf("\n", place.end) + 1 || text.length);
    const now = fitted.get(reads) ?? (await fitPassage(text, place, found, wanted.old, wanted.replacement));
    fitted.set(reads, now);
    splices.push({ ...place, rung: found.rung, text: now });
  }
  return splices;
}

const MAX_REPLACED = 10_000;
/** Most places whose lines an error names. */
const MAX_PLACES = 20;

/** Drops places that overlap the one before. */
function apart(places: readonly FoundPassage[]): FoundPassage[] {
  let end = 0;
  return places.filter((place) => {
    if (place.start < end) return false;
    end = place.end;
    return true;
  });
}

function ambiguous(name: string, { places }: Found): AgentError {
  const lines = places.slice(0, MAX_PLACES).map(({ line }) => line);
  const isMore = places.length > MAX_PLACES;
  const count = isMore ? `more than ${MAX_PLACES}` : places.length;
  const where = `(lines ${lines.join(", ")}${isMore ? " and more" : ""})`;
  return new AgentError(
    "edit_many_matches",
    `old_string occurs ${count} times in ${name} ${where}: give more of its surroundings, or replace_all.`,
  );
}

function missing(name: string, { near }: Found): AgentError {
  const hint =
    near === ""
      ? "Read the file again: it may have changed."
      : `What stands there instead, with line numbers:\n${near}\nCopy old_string from the file as it is.`;
  return refusal(`old_string does not occur in ${name}. ${hint}`);
}

function named(label: string, error: unknown): unknown {
  return isAgentError(error) && label !== ""
    ? new AgentError(error.code, label + error.message, { cause: error })
    : error;
}
