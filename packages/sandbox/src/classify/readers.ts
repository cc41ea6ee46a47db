import { firstOf, words } from "../words.js";
import { awkConcern } from "./awk.js";
import { concernBelow } from "./below.js";
import { gitConcern } from "./git.js";
import { type OptionTable, type ParsedOptions, parseOptions } from "./options.js";
import { pathsConcern, type Standpoint } from "./paths.js";
import { isFixedButStatus, type PlainWord } from "./plain-script.js";
import { findConcern, jqConcern, psConcern, sedConcern, testConcern } from "./program-readers.js";

/** Returns why the program does more than read with these arguments, or undefined. */
type Concern = (args: readonly PlainWord[], standpoint: Standpoint) => string | undefined;

interface Reader extends OptionTable {
  /** The meaning of the words that are not options. @defaultValue paths */
  readonly operands?: "paths" | "text" | "pattern" | "none" | "anything";
  /** Options with which it reads everything below a directory; "always" if it needs none. */
  readonly recursive?: readonly string[] | "always";
  /** It reads hidden names only with one of these options. @defaultValue always */
  readonly hiddenWith?: readonly string[];
}

const ends: Reader = { flags: "qvz", values: "nc", long: words("bytes= lines= quiet"), counts: true, inert: true };
const hash: Reader = { flags: "bctwz", long: words("check tag quiet status binary text"), inert: true };

const grep: Reader = {
  flags: "aEFGPHILZbchilnoqrsvwxyz",
  values: "ABCDem",
  files: "f",
  recursive: ["-r", "--recursive"],
  long: words(`
    context extended-regexp fixed-strings perl-regexp ignore-case invert-match word-regexp line-regexp count color
    colour files-with-matches files-without-match only-matching quiet silent no-messages line-number
    with-filename no-filename recursive text null no-ignore-case
    after-context= before-context= binary-files= exclude= exclude-dir= include= max-count= regexp=
  `),
  operands: "pattern",
  inert: true,
  counts: true,
};

/** Programs that only read with these options and operands. No option follows links, which may leave the workspace. */
const READERS: Readonly<Record<string, Reader>> = {
  ...sharing(": echo expr false true", { operands: "anything" }),
  ...sharing("egrep fgrep grep", grep),
  ...sharing("basename dirname", { flags: "az", values: "s", operands: "text" }),
  ...sharing("comm expand fmt fold rev tac", { flags: "0123456789bcirstuz", values: "w", counts: true, inert: true }),
  ...sharing("head tail", ends),
  ...sharing("cksum md5sum sha1sum sha256sum sha512sum", hash),
  ...sharing("cal printf sleep", { counts: true, operands: "text" }),
  ...sharing("free nproc tty uname uptime whoami", { flags: "abghiklmnoprstvw", long: ["all"], operands: "none" }),
  base64: { flags: "di", values: "w", long: words("decode wrap="), inert: true },
  cat: { flags: "AbeEnstTuv", long: words("number show-all number-nonblank squeeze-blank"), inert: true },
  cmp: { flags: "bls", values: "in", long: words("silent quiet verbose bytes=") },
  column: { flags: "txe", values: "sco", long: words("table separator=") },
  cut: { flags: "nsz", values: "bcdf", long: words("delimiter= fields= output-delimiter= complement"), inert: true },
  date: { flags: "uR", values: "d", long: words("utc iso-8601 rfc-3339= date="), operands: "text" },
  df: { flags: "ahHiklPT", values: "t", long: words("human-readable total inodes type="), operands: "text" },
  diff: {
    flags: "abBcdeEiNnpqsTtuwyZ",
    values: "CUWxF",
    recursive: "always",
    long: words("brief unified context ignore-all-space ignore-case new-file side-by-side color stat exclude="),
    counts: true,
  },
  du: { flags: "0abchklmsSx", values: "dBt", long: words("human-readable summarize max-depth= exclude="), inert: true },
  file: { flags: "bhiLkN0", long: words("brief mime mime-type mime-encoding dereference no-dereference") },
  hexdump: { flags: "bcCdovx", values: "ns", inert: true },
  ...sharing("arch groups hostname", { flags: "sI", operands: "none" }),
  id: { flags: "Ggnru", operands: "text" },
  ls: {
    flags: "1aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ",
    values: "I",
    long: words(`
      all almost-all human-readable recursive reverse size sort= time= color colour directory classify inode
      group-directories-first full-time time-style= file-type indicator-style= no-group numeric-uid-gid ignore=
      hide= width=
    `),
    inert: true,
  },
  nl: { flags: "p", values: "bfhilnsvw", inert: true },
  od: { flags: "abcdfiloxsv", values: "AjNSt", inert: true },
  ...sharing("join paste", { flags: "isz", values: "12adejotv", inert: true }),
  pwd: { flags: "LP", operands: "none" },
  readlink: { flags: "efmnqz", long: words("canonicalize"), inert: true },
  realpath: { flags: "eLmPqsz", long: words("relative-to= relative-base= no-symlinks"), inert: true },
  rg: {
    flags: "aFHINPSUchilnopqsuvwx0.",
    values: "ABCEMegjmrtTd",
    files: "f",
    recursive: "always",
    hiddenWith: ["-.", "--hidden", "-u"],
    long: words(`
      files hidden no-ignore ignore-case smart-case case-sensitive fixed-strings word-regexp line-regexp count
      multiline count-matches files-with-matches files-without-match only-matching line-number no-line-number
      heading no-heading column json stats type-list vimgrep pcre2 invert-match with-filename no-filename
      pretty trim no-messages quiet text null crlf passthru
      after-context= before-context= color= context= glob= iglob= max-columns= max-count= max-depth=
      max-filesize= regexp= replace= sort= type= type-not=
    `),
    operands: "pattern",
  },
  seq: { flags: "w", values: "fs", operands: "text" },
  sort: {
    flags: "bcCdfgGhiMmnrRsuVz",
    values: "kt",
    long: words(`
      reverse numeric-sort unique human-numeric-sort version-sort ignore-case field-separator= key= stable check
    `),
  },
  stat: { flags: "fLtx", values: "c", long: words("format= printf= terse dereference"), inert: true },
  strings: { flags: "afo", values: "net", inert: true },
  tr: { flags: "cCdst", long: words("delete squeeze-repeats complement"), operands: "text" },
  tree: {
    flags: "aCdDfFghiJnNpqQrsStuUvxX",
    values: "ILP",
    separate: true,
    long: words("dirsfirst noreport prune gitignore du si matchdirs ignore-case"),
  },
  uniq: { flags: "cdDiuz", values: "fsw", long: words("count repeated unique ignore-case") },
  wc: { flags: "clLmw", long: words("lines words bytes chars max-line-length"), inert: true },
  ...sharing("type which", { flags: "apstP", operands: "text" }),
};

/** The same row for several programs. An option that only one of them has may be in it if it does no more than read in any. */
function sharing(programs: string, reader: Reader): Record<string, Reader> {
  return Object.fromEntries(words(programs).map((name) => [name, reader]));
}

/** Options that only print the version, and their programs. `python3 -v`, for example, would run its input. */
const VERSION: ReadonlyMap<string, readonly string[]> = new Map([
  ["--version", words("bash gcc git java make node npm python python3 ruby")],
  ["-v", words("gcc git make node npm")],
  ["-V", words("python python3")],
  ["-version", words("java")],
]);

/** Programs with a small language in their arguments. */
const SPECIAL: Readonly<Record<string, Concern>> = {
  "[": testConcern,
  awk: awkConcern,
  command: (args) => (args[0]?.text === "-v" && args.length === 2 ? undefined : "runs another command"),
  find: findConcern,
  git: gitConcern,
  jq: jqConcern,
  ps: psConcern,
  sed: sedConcern,
  test: testConcern,
};

/** Why this command does more than read the workspace, or undefined. */
export function readConcern(command: readonly PlainWord[], standpoint: Standpoint): string | undefined {
  const [name, ...args] = command;
  if (!name || name.glob) return "the command name is not fixed";
  if (args.length === 1 && VERSION.get(args[0]!.text)?.includes(name.text)) return undefined;
  if (Object.hasOwn(SPECIAL, name.text)) return SPECIAL[name.text]!(args, standpoint);
  if (!Object.hasOwn(READERS, name.text)) return `${name.text} is not known to only read`;
  const reader = READERS[name.text]!;
  const namesFiles = (word: PlainWord) => word.glob && !isFixedButStatus(word);
  if (reader.operands === "anything") return pathsConcern(args.filter(namesFiles), standpoint);
  const parsed = parseOptions(args, reader);
  if (typeof parsed === "string") return `${name.text}: ${parsed} is not known to only read`;
  const kind = reader.operands ?? "paths";
  let operands = parsed.operands;
  if (kind === "none" && operands.length > 0) return `${name.text} with an argument can change the system`;
  // A pattern may become several names, and after a name even an option may count as one.
  if (name.text === "uniq" && operands.some((word) => word.glob || word !== args.at(-1)))
    return "uniq writes its second file";
  // A pattern of the shell may become several words, of which only the first is what to search for.
  if (kind === "pattern" && !operands[0]?.glob && !NO_PATTERN.some((option) => parsed.seen.has(option)))
    operands = operands.slice(1);
  if (name.text === "date" && operands.some((word) => !word.text.startsWith("+"))) return "date sets the clock";
  if (name.text === "printf" && operands[0] && setsVariable(operands[0])) return "printf sets a variable";
  if (name.text === "strings" && args.some((word) => word.text.startsWith("@"))) return "strings reads its options";
  // A text operand is harmless unless it is a pattern, which the shell expands to file names.
  const paths = [...parsed.files, ...(kind === "text" ? operands.filter(namesFiles) : operands)];
  return pathsConcern(paths, standpoint) ?? belowConcern(reader, parsed, operands, standpoint);
}

// --- internal ---

/** With one of these options, a search has no operand that is its pattern. */
const NO_PATTERN = ["-e", "-f", "--regexp", "--files"];

/** Why a recursive search below its operands needs a question. Considers an option that restricts the files, but none that excludes. */
function belowConcern(
  { recursive, hiddenWith }: Reader,
  { seen, values }: ParsedOptions,
  operands: readonly PlainWord[],
  standpoint: Standpoint,
): string | undefined {
  const namesOnly = seen.has("--files");
  if (!recursive || namesOnly || (recursive !== "always" && !recursive.some((option) => seen.has(option))))
    return undefined;
  const valuesOf = (...options: readonly string[]) =>
    values.flatMap(({ option, value }) => (options.includes(option) ? [value] : []));
  const isHiddenRead = !hiddenWith || hiddenWith.some((option) => seen.has(option));
  // Ripgrep reads a hidden name too if a pattern or a type of files matches it.
  const byPattern = valuesOf("-g", "--glob", "--iglob").filter((pattern) => !pattern.startsWith("!"));
  const byType = valuesOf("-t", "--type").flatMap((type) => TYPES.get(type) ?? ["*"]);
  // If --exclude comes first, grep reads the files that no pattern matches.
  const isRestricted = values.find(({ option }) => /^--(in|ex)clude$/.test(option))?.option === "--include";
  const search = {
    // With a slash, a pattern may match in more ways than one.
    only: isRestricted ? valuesOf("--include").map((pattern) => (pattern.includes("/") ? "*" : pattern)) : [],
    hidden: isHiddenRead ? ["*"] : [...byPattern, ...byType],
    heedsIgnoreFiles: hiddenWith !== undefined,
    // Diff does; the searches pass over links.
    followsLinks: recursive === "always" && !hiddenWith,
  };
  const places = operands.length === 0 ? [{ text: ".", glob: false }] : operands;
  return firstOf(places, (path) => concernBelow(path, standpoint, search));
}

/** Patterns of the names that belong to a type of ripgrep. To other types, any hidden name may belong. */
const TYPES: ReadonlyMap<string, readonly string[]> = new Map(
  ["go *.go", "js *.*js* *.vue", "json *.json *.sarif", "py *.py*", "rust *.rs", "ts *.*ts*", "yaml *.y*ml"]
    .map(words)
    .map(([type, ...patterns]) => [type!, patterns]),
);

/** Whether `printf` sets a variable, such as the `PATH` of the next command, to the length of its output. */
function setsVariable({ text, glob }: PlainWord): boolean {
  return glob || /%[^A-Za-z%]*[hjlLtz]*n/.test(text.replaceAll("%%", ""));
}
