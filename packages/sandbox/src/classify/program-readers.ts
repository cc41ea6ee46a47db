import { words } from "../words.js";
import { parseOptions } from "./options.js";
import { firstPath, pathConcern, type Standpoint } from "./paths.js";
import { isFixedButStatus, type PlainWord } from "./plain-script.js";

/** Allows `find` with tests and printing; not `-exec`, `-delete`, `-fprint` and the like. */
export function findConcern(args: readonly PlainWord[], standpoint: Standpoint): string | undefined {
  let index = 0;
  while (["-H", "-P"].includes(args[index]?.text ?? "")) index += 1;
  const first = index;
  while (index < args.length && !/^[-(!]/.test(args[index]!.text)) index += 1;
  const concern = firstPath(args.slice(first, index), standpoint, "find");
  if (concern) return concern;
  for (; index < args.length; index += 1) {
    const { text, glob } = args[index]!;
    if (glob) return `find: ${text} is not quoted`;
    if (FIND_PLAIN.has(text)) continue;
    if (!FIND_VALUED.has(text)) return `find: ${text} is not known to only read`;
    index += 1;
    const value = args[index];
    if (!value || value.glob) return `find: ${text} without a fixed value`;
    if (text === "-newer") {
      const concern = pathConcern(value, standpoint);
      if (concern) return concern;
    }
  }
  return undefined;
}

/** Allows `sed` scripts that print or substitute to standard output; not `w`, `e`, `r`, in-place editing or script files. */
export function sedConcern(args: readonly PlainWord[], standpoint: Standpoint): string | undefined {
  const scripts: (PlainWord | undefined)[] = [];
  const rest: PlainWord[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index]!;
    if (/^-[nErsuz]+$/.test(word.text) || ["--quiet", "--silent", "--regexp-extended"].includes(word.text)) continue;
    if (word.text === "-e" || word.text === "--expression") {
      index += 1;
      scripts.push(args[index]);
    } else if (word.text.startsWith("-") && word.text !== "-") {
      return `sed: option ${word.text} is not known to only read`;
    } else {
      rest.push(word);
    }
  }
  if (scripts.length === 0) scripts.push(rest.shift());
  // An unquoted pattern could become a file name, which would then be the script.
  if (!scripts.every((script) => script && !script.glob && isPrintingSed(script.text))) {
    return "sed: the script is not known to only print";
  }
  return firstPath(rest, standpoint, "sed");
}

/** Allows `jq` filters that read only their input: no environment, no modules, no files except the operands. After `--`, jq reads all words as files. */
export function jqConcern(args: readonly PlainWord[], standpoint: Standpoint): string | undefined {
  // `--arg name value` and `--argjson name value` only set variables of the filter.
  const rest: PlainWord[] = [];
  for (let index = 0; index < args.length; index += 1) {
    if (args[index]!.text === "--") return "jq: -- is not known to only read";
    if (!/^--arg(?:json)?$/.test(args[index]!.text)) rest.push(args[index]!);
    else if (args.slice(index + 1, index + 3).some((word) => word.glob)) return "jq: a variable without a fixed value";
    else index += 2;
  }
  const parsed = parseOptions(rest, {
    flags: "acCeMnrRsSj",
    long: words(`
      compact-output exit-status null-input raw-output raw-input slurp sort-keys tab color-output
      monochrome-output
    `),
  });
  if (typeof parsed === "string") return `jq: ${parsed} is not known to only read`;
  const [filter, ...files] = parsed.operands;
  if (!filter || filter.glob || JQ_REACHES.test(filter.text)) return "jq: the filter can reach beyond its input";
  return firstPath(files, standpoint, "jq");
}

/** Allows process lists, but not with environments, which `e` would add. */
export function psConcern(args: readonly PlainWord[]): string | undefined {
  const known = new Set(["aux", "ax", "-e", "-ef", "-A", "-f", "-aux", "-u", "x", "u"]);
  return args.every((word) => known.has(word.text)) ? undefined : "ps can print other programs' environments";
}

/** Allows `test` and `[`, but not `-v` and `-R`, which would evaluate a subscript. */
export function testConcern(args: readonly PlainWord[], standpoint: Standpoint): string | undefined {
  for (const [index, word] of args.entries()) {
    if (word.glob && !isFixedButStatus(word)) return "test: an unquoted pattern can become an operator";
    if (word.text === "-v" || word.text === "-R") return "test: evaluates a variable name";
    if (/^-[bcdefghkprstuwxLSON]$/.test(args[index - 1]?.text ?? "") && word.text !== "]") {
      const concern = pathConcern(word, standpoint);
      if (concern?.includes("credentials")) return concern;
    }
  }
  return undefined;
}

// --- internal ---

const JQ_REACHES = /__|(?<!\.)\b(ENV|env|import|include|modulemeta|get_search_list|input_filename|halt_error)\b/;

const FIND_PLAIN = new Set(
  words("! -not ( ) -a -and -o -or , -print -print0 -prune -empty -ls -depth -xdev -executable -readable -writable"),
);
const FIND_VALUED = new Set(
  words(`
    -name -iname -path -ipath -wholename -regex -iregex -regextype -type -maxdepth -mindepth -size -mtime -mmin -atime
    -ctime -perm -user -group -printf -newer -newermt
  `),
);

// At most one blank in each place, so that no text makes these expressions slow.
const SED_ADDRESS = String.raw`(?:\d+|\$|/(?:[^/\\\n]|\\[^\n])*/I?|\d+~\d+)`;
const SED_SUBSTITUTE = ["/", "|", "#"].map(
  (mark) => String.raw`s(?:${mark === "|" ? "\\|" : mark}(?:[^${mark}\\\n]|\\[^\n])*){2}[${mark}][gpiI0-9]*`,
);
const SED_COMMAND = String.raw`(?:${SED_ADDRESS}(?:, ?(?:${SED_ADDRESS}|\+\d+))?)? ?!? ?(?:[pdqQ=]|${SED_SUBSTITUTE.join("|")})`;
const SED_SCRIPT = new RegExp(`^ ?${SED_COMMAND}(?: ?; ?${SED_COMMAND})* ?;? ?$`);

/** Only brackets without delimiters are understood, because a delimiter in brackets does not end the pattern. */
const SED_BRACKET = /\[\^?(?:[\w .,:-]|\[:[a-z]+:\])+\]/g;

function isPrintingSed(script: string): boolean {
  const plain = script.replace(SED_BRACKET, "x");
  return script.length <= 400 && !plain.includes("[") && SED_SCRIPT.test(plain);
}
