import type { PlainWord } from "./plain-script.js";

/** The options with which a program only reads. Any other option, even an abbreviation of these, counts as more than a read. */
export interface OptionTable {
  /** Letters without a value. */
  readonly flags?: string;
  /** Letters with a value. */
  readonly values?: string;
  /** Letters whose value is a file to read. */
  readonly files?: string;
  /** Long names, alone or with `=value`. Those listed with a `=` take the next word if no value is attached, even if it is an option. */
  readonly long?: readonly string[];
  /** No option of the program, listed or not, can write, run a program or use the network. */
  readonly inert?: boolean;
  /** The value of a letter is always the next word, and further letters may follow the letter. */
  readonly separate?: boolean;
  /** Whether `-20` is a count. `+20` is an operand: what grep searches for. Those that count by it read no more if it is taken for a name. */
  readonly counts?: boolean;
}

export interface ParsedOptions {
  readonly operands: readonly PlainWord[];
  /** Words given to `files` options. */
  readonly files: readonly PlainWord[];
  /** All options, as `-x` or `--name`. */
  readonly seen: ReadonlySet<string>;
  /** The values of the options that have one. */
  readonly values: readonly { readonly option: string; readonly value: string }[];
}

/** Splits arguments by the table. Returns a text that names an option which is not known to be harmless. */
export function parseOptions(args: readonly PlainWord[], table: OptionTable): ParsedOptions | string {
  const operands: PlainWord[] = [];
  const files: PlainWord[] = [];
  const seen = new Set<string>();
  const values: { option: string; value: string }[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index]!;
    const { text } = word;
    // A file may be named `-o`. That matters only for a program with a harmful option.
    if (word.glob && !table.inert && /^[*?[]/.test(text)) return `${text}, which can become an option`;
    if (text === "--") {
      const rest = args.slice(index + 1);
      // The option before may take `--` as its value. Then options follow.
      if (args[index - 1]?.text.startsWith("--") && rest.some((later) => /^[-*?[]/.test(later.text)))
        return "-- after an option";
      operands.push(...rest);
      break;
    }
    if (table.counts && /^-\d+$/.test(text)) continue;
    if (!text.startsWith("-") || text === "-") {
      operands.push(word);
      continue;
    }
    if (text.startsWith("--")) {
      const name = text.slice(2).replace(/=.*$/s, "");
      const hasValue = table.long?.includes(`${name}=`);
      if (!hasValue && !table.long?.includes(name)) return `option --${name}`;
      seen.add(`--${name}`);
      if (!hasValue) continue;
      const isAttached = text.includes("=");
      if (!isAttached) index += 1;
      const value = args[index] ?? { text: "", glob: false };
      if (!isAttached && !isValue(value, name, table)) return `option ${text} without a fixed value`;
      values.push({ option: `--${name}`, value: isAttached ? text.slice(name.length + 3) : value.text });
      continue;
    }
    const rest = readCluster(text, table, seen);
    if (typeof rest === "string") return rest;
    if (rest.needs) {
      if (!rest.value) index += 1;
      const value = rest.value ?? args[index];
      if (!value || (!rest.value && !isValue(value, rest.letter, table))) return `option ${text} without a fixed value`;
      if (rest.needs === "file") files.push(value);
      values.push({ option: `-${rest.letter}`, value: value.text });
    }
  }
  return { operands, files, seen, values };
}

// --- internal ---

/**
 * Whether the word after an option is surely its value. A pattern could become several words. A word that looks like an option may be one:
 * after `--format`, which takes only `--format=…`, or after `-zn`, where git wants the letters apart, it would still write `--output=F`.
 */
function isValue({ text, glob }: PlainWord, option: string | undefined, { inert }: OptionTable): boolean {
  return !glob && (inert === true || option === "e" || option === "regexp" || !/^-\D/.test(text));
}

function readCluster(
  text: string,
  table: OptionTable,
  seen: Set<string>,
): { needs?: "value" | "file"; letter?: string; value?: PlainWord } | string {
  for (let at = 1; at < text.length; at += 1) {
    const letter = text[at]!;
    seen.add(`-${letter}`);
    if (table.flags?.includes(letter)) continue;
    const needs = table.values?.includes(letter) ? "value" : table.files?.includes(letter) ? "file" : undefined;
    if (!needs) return `option -${letter}`;
    const rest = text.slice(at + 1);
    if (table.separate && /\D/.test(rest)) return `option -${rest}`;
    return rest === "" ? { needs, letter } : { needs, letter, value: { text: rest, glob: false } };
  }
  return {};
}
