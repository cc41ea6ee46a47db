/** Edits must land in the right place or be refused: cases written by hand, and mutated passages of this repository's files. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { climb, climbers } from "../../src/tools/edit/climb.js";
import { editTool } from "../../src/tools/index.js";
import { offThread } from "../../src/tools/off-thread.js";
import { bench } from "./bench.js";
import { editCases } from "./edit-cases.js";

test.each(editCases.map((each) => [each.name, each] as const))(
  "%s",
  async (_, { before, old, now, after, or = [], mayRefuse }) => {
    const { run, file } = await bench();
    const path = await file("f.txt", before);
    const { success, output } = await run(editTool, { path: "f.txt", old_string: old, new_string: now });
    const result = await readFile(path, "utf8");
    if (after === null || (mayRefuse && !success)) {
      expect(result).toBe(before);
      expect(success, output).toBe(false);
      expect(output.length).toBeGreaterThan(20);
    } else {
      expect(success, output).toBe(true);
      expect([after, ...or]).toContain(result);
    }
  },
);

test("a search on another thread finds the same", async () => {
  const { signal } = new AbortController();
  for (const { name, before, old } of editCases) {
    for (const isWhole of [false, true]) {
      const wanted = { old, most: 20, isWhole, longest: 100_000 };
      const found = await offThread(climb, [before, wanted], { signal, uses: climbers });
      expect(found, name).toEqual(climb(before, wanted));
    }
  }
});

const SEED = Number(process.env["EDIT_SEED"] ?? 20_261_118);
const ROUNDS = Number(process.env["EDIT_ROUNDS"] ?? 200);

test(`${ROUNDS} mutated passages of real files (EDIT_SEED=${SEED}): none is wrong, at least 95 % land`, async () => {
  const random = createRandom(SEED);
  const texts = await sources();
  const { run, file } = await bench();
  let [landed, wanted] = [0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { how, before, old, now, isRight, mustLand } = mutated(
      texts[Math.floor(random() * texts.length)] as string,
      random,
    );
    const path = await file("f.txt", before);
    const { success, output } = await run(editTool, { path: "f.txt", old_string: old, new_string: now });
    const result = await readFile(path, "utf8");
    const story = `round ${round} of seed ${SEED}, ${how}\n--- old\n${old}\n--- new\n${now}\n--- says\n${output}`;
    expect(success ? isRight(result) : result === before, story).toBe(true);
    if (mustLand) wanted += 1;
    if (mustLand && success) landed += 1;
    if (mustLand && !success && process.env["EDIT_STORIES"]) console.log(story);
  }
  console.log(`edits: ${landed} of ${wanted} landed, 0 wrong, ${ROUNDS - wanted} might be refused (EDIT_SEED=${SEED})`);
  expect(landed / wanted).toBeGreaterThanOrEqual(0.95);
}, 120_000);

// --- internal ---

/** Yields the same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const FOLDERS = [
  "packages/agent/src/tools",
  "packages/session/src",
  "packages/cli/src",
  "docs",
  "docs/decisions",
  "scripts",
];

async function sources(): Promise<string[]> {
  const root = join(import.meta.dirname, "../../../..");
  const lists = await Promise.all(FOLDERS.map((folder) => readdir(join(root, folder), { withFileTypes: true })));
  const paths = lists.flat().filter((entry) => entry.isFile() && /\.(ts|mjs|md|sh)$/.test(entry.name));
  const texts = await Promise.all(paths.map(({ parentPath, name }) => readFile(join(parentPath, name), "utf8")));
  return texts.filter((text) => text.split("\n").length > 12).sort();
}

interface Mutation {
  readonly how: string;
  readonly before: string;
  readonly old: string;
  readonly now: string;
  readonly isRight: (result: string) => boolean;
  /** False when the passage does not occur, or occurs several times if its drift is ignored. */
  readonly mustLand: boolean;
}

/** Ways in which a model's lines differ from the file's. The new lines differ in the same way. */
interface Drift {
  readonly name: string;
  readonly apply: (line: string, at: number) => string;
  /** The differences that may stay in lines that the edit changed. */
  readonly forgive?: (text: string) => string;
}

const curl = (line: string) => line.replaceAll("'", "’").replace(/"([^"]*)"/g, "“$1”");

const DRIFTS: readonly Drift[] = [
  { name: "as it is", apply: (line) => line },
  { name: "one level deeper", apply: (line) => (line === "" ? "" : `    ${line}`) },
  { name: "twice the blanks", apply: (line) => line.replace(/^ +/, (lead) => lead + lead) },
  { name: "tabs", apply: (line) => line.replace(/^(?: {2})+/, (lead) => "\t".repeat(lead.length / 2)) },
  {
    name: "blanks at line ends",
    apply: (line, at) => (at % 2 === 0 ? `${line}  ` : line),
    forgive: (text) => text.replace(/[ \t]+(?=\r?\n|$)/g, ""),
  },
  { name: "curly quotes", apply: curl, forgive: (text) => text.replace(/[“”]/g, '"').replaceAll("’", "'") },
  {
    name: "double blanks",
    apply: (line) => line.replace(/(\w) = (?=[\w(])/g, "$1  =  "),
    forgive: (text) => text.replace(/(\w) {2}= {2}/g, "$1 = "),
  },
  { name: "carriage returns", apply: (line) => `${line}\r` },
];

function mutated(source: string, random: () => number): Mutation {
  const pick = (most: number) => Math.floor(random() * most);
  const lines = source.split("\n");
  const count = 2 + pick(6);
  const start = pick(lines.length - count - 1);
  const passage = lines.slice(start, start + count);
  const changed = edited(passage, pick);
  const common = Math.min(...passage.filter((line) => line.trim() !== "").map((line) => leadOf(line).length));
  const lost: Drift = { name: "indentation lost", apply: (line) => line.slice(Math.min(common, leadOf(line).length)) };
  const drift = [lost, ...DRIFTS][pick(DRIFTS.length + 1)] as Drift;
  const isStale = random() < 0.1;
  const isCrlf = random() < 0.25;
  const ended = (text: string) => (isCrlf ? text.replaceAll("\n", "\r\n") : text);
  const head = ended(
    lines
      .slice(0, start)
      .map((line) => `${line}\n`)
      .join(""),
  );
  const tail = ended(
    lines
      .slice(start + count)
      .map((line) => `\n${line}`)
      .join(""),
  );
  const drifted = (of: readonly string[]) => of.map(drift.apply).join("\n").replace(/\r$/, "");
  const old = drifted(isStale ? passage.map((line) => `${line} Q7`) : passage);
  const now = drifted(changed);
  // If the drifted passage occurs elsewhere word for word, it means that place.
  if (
    drift.name !== "as it is" &&
    !isStale &&
    old.replaceAll("\r", "") !== passage.join("\n") &&
    source.includes(old)
  ) {
    return mutated(source, random);
  }
  // A passage without visible drift is found exactly, and the new text is then used as it is written.
  const isExact = old.replaceAll("\r", "") === passage.join("\n");
  const right = ended(isExact ? now.replaceAll("\r", "") : changed.join("\n"));
  const forgive = drift.forgive ?? ((text) => text);
  const words = (line: string) => line.replace(/\s+/g, "");
  const wanted = passage.map(words);
  const places = lines.filter((_, at) => wanted.every((word, offset) => words(lines[at + offset] ?? "") === word));
  return {
    how: `${drift.name}${isCrlf ? ", CRLF file" : ""}${isStale ? ", stale" : ""}`,
    before: ended(source),
    old,
    now,
    isRight: (result) =>
      !isStale &&
      result.startsWith(head) &&
      result.endsWith(tail) &&
      forgive(result.slice(head.length, result.length - tail.length)) === forgive(right),
    mustLand: !isStale && places.length === 1,
  };
}

const leadOf = (line: string) => /^\s*/.exec(line)?.[0] ?? "";

/** Changes: a line is renamed, removed, or added beside another or a level deeper; or a blank line is added. */
function edited(passage: readonly string[], pick: (most: number) => number): string[] {
  const at = pick(passage.length);
  const line = passage[at] as string;
  const result = [...passage];
  const kind = pick(5);
  if (kind === 0 && /\w/.test(line)) result[at] = line.replace(/\w+/, "renamed_1");
  else if (kind === 1 && passage.length > 2 && line.trim() !== "") result.splice(at, 1);
  else if (kind === 4 && at + 1 < passage.length) result.splice(at + 1, 0, "");
  else if (kind === 2) result.splice(at + 1, 0, `${leadOf(line)}added_2();`);
  else result.splice(at + 1, 0, `${leadOf(line)}if (added_3) {`, `${leadOf(line)}  added_4();`, `${leadOf(line)}}`);
  return result;
}
