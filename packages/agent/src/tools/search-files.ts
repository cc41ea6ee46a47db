/** Finds matching lines in files: with ripgrep if `@vscode/ripgrep` is installed, or else with a slower walk. */
import { lstat, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { AgentError } from "../errors.js";
import { looksBinary, readCanonical } from "../files/canonical-file.js";
import { MAX_OUTPUT } from "./define.js";
import { cleanEnvironment } from "./environment.js";
import { fileFilter, walk } from "./list-files.js";
import { matchingLines } from "./off-thread.js";
import { type ProcessGroup, spawnGroup } from "./process-group.js";

export interface SearchRequest {
  readonly pattern: string;
  readonly glob: string | undefined;
  readonly ignoreCase: boolean;
  /** A real path: a directory, or one file. */
  readonly root: string;
  /** Whether to skip a file, given its path relative to the root. */
  readonly isSecret: (path: string) => boolean;
  /** Counts all skipped files. Counting only those that match would reveal what they contain. */
  readonly passedOver: { files: number };
  readonly signal: AbortSignal;
}

export interface Match {
  /** Path relative to the root; empty when the root is the file itself. */
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** The files in which ripgrep reads ignore rules. */
const IGNORE_FILES = [".gitignore", ".ignore", ".rgignore"];
/** Time limit for ripgrep, which would wait for ever on a pipe named like an ignore file. The walk then replaces it. */
const RIPGREP_MS = 30_000;

export async function* searchWithRipgrep(binary: string, request: SearchRequest): AsyncGenerator<Match> {
  const { root, signal } = request;
  const isFile = (await stat(root)).isFile();
  const ignoreFiles = await Promise.all(IGNORE_FILES.map((name) => lstat(join(root, name)).catch(() => null)));
  if (ignoreFiles.some((found) => found && !found.isFile())) {
    yield* searchByWalking(request);
    return;
  }
  const start = (args: string[]) =>
    spawnGroup(...withinMemory(binary, args), { cwd: isFile ? dirname(root) : root, env: cleanEnvironment() });
  const group = start(argumentsFor(request, isFile ? basename(root) : undefined));
  const names = isFile ? null : start(["--files", "--null", ...SAME_FILES, "./"]);
  const counted = names && countSecrets(names, request);
  const { child } = group;
  // Filter here, because ripgrep's --glob would include files that .gitignore excludes.
  const wanted = fileFilter(request.glob);
  let complaint = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    if (complaint.length < 2000) complaint += bytes.toString();
  });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const failed = new Promise<never>((_, reject) => child.once("error", reject));
  failed.catch(() => {});
  const onAbort = () => {
    group.sweep();
    names?.sweep();
  };
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    onAbort();
  }, RIPGREP_MS);
  signal.addEventListener("abort", onAbort, { once: true });
  let found = 0;
  let given = 0;
  try {
    if (child.pid === undefined) await failed;
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream, crlfDelay: Infinity })) {
      const match = parse(line, isFile);
      if (!match) continue;
      found += 1;
      if (!isFile && (!wanted(match.path) || request.isSecret(match.path))) continue;
      given += 1;
      yield match;
    }
    await counted;
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", onAbort);
    onAbort();
  }
  signal.throwIfAborted();
  await closed;
  if (isLate || complaint.includes("memory allocation")) {
    // The walk skips oversized ignore files. It yields the same matches in the same order, so skip those already given.
    request.passedOver.files = 0;
    for await (const match of searchByWalking(request)) if (given-- <= 0) yield match;
    return;
  }
  if (found === 0 && /regex (?:parse )?error/.test(complaint)) {
    throw new AgentError("bad_pattern", `The pattern cannot be used: ${complaint.trim()}`);
  }
}

const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Most characters of the matches in one file, and of one line: more than a result can hold. */
const ROOM = { chars: MAX_OUTPUT, line: 1000 };

export async function* searchByWalking(request: SearchRequest): AsyncGenerator<Match> {
  const { root, signal } = request;
  if ((await stat(root)).isFile()) {
    yield* inFile("", root, request);
    return;
  }
  const wanted = fileFilter(request.glob);
  for await (const path of walk(root, signal)) {
    if (!wanted(path)) continue;
    if (request.isSecret(path)) request.passedOver.files += 1;
    else yield* inFile(path, join(root, path), request);
  }
}

// --- internal ---

/** Ripgrep needs a few MiB for a normal project, but up to fifty times the size of a hostile ignore file. */
const MOST_KIB = 256 * 1024;

function withinMemory(binary: string, args: string[]): [string, string[]] {
  if (process.platform === "win32") return [binary, args];
  return ["/bin/sh", ["-c", `ulimit -v ${MOST_KIB} 2>/dev/null; exec "$0" "$@"`, binary, ...args]];
}

/** Arguments that select the files. */
const SAME_FILES = [
  ..."--no-config --color=never --hidden --no-require-git".split(" "),
  ...["!.git", "!.hg", "!.svn", "!node_modules"].map((left) => `--glob=${left}`),
];

function argumentsFor({ pattern, ignoreCase }: SearchRequest, file: string | undefined): string[] {
  return [
    ..."--null --line-number --with-filename --no-heading --no-mmap --max-columns=1000 --max-columns-preview".split(
      " ",
    ),
    ...SAME_FILES,
    "--sort=path",
    ...(ignoreCase ? ["--ignore-case"] : []),
    `--regexp=${pattern}`,
    "--",
    file === undefined ? "./" : `./${file}`,
  ];
}

async function countSecrets({ child }: ProcessGroup, { glob, isSecret, passedOver }: SearchRequest): Promise<void> {
  const wanted = fileFilter(glob);
  let rest = "";
  child.on("error", () => {});
  child.stderr?.resume();
  for await (const text of child.stdout?.setEncoding("utf8") ?? []) {
    const names = (rest + text).split("\0");
    rest = names.pop() ?? "";
    for (const name of names.map((path) => path.replace(/^\.\//, ""))) {
      if (isSecret(name) && wanted(name)) passedOver.files += 1;
    }
  }
}

function parse(line: string, isFile: boolean): Match | null {
  const parts = /^(?:\.\/)?([^\0]*)\0(\d+):(.*)$/s.exec(line);
  if (!parts) return null;
  const [, path = "", number = "", text = ""] = parts;
  return { path: isFile ? "" : path, line: Number(number), text };
}

async function* inFile(path: string, file: string, request: SearchRequest): AsyncGenerator<Match> {
  // Skip links, devices, unreadable and very large files, as ripgrep skips files that it cannot read.
  const bytes = await readCanonical(file, MAX_FILE_BYTES).catch(() => null);
  if (bytes === null || looksBinary(bytes)) return;
  const flags = request.ignoreCase ? "i" : "";
  const found = await matchingLines(new Uint8Array(bytes), request.pattern, flags, ROOM, request.signal);
  for (const { line, text } of found) yield { path, line, text };
}
