/** Searching with the ripgrep binary that `@vscode/ripgrep` brings; the package is optional. */
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { createInterface } from "node:readline";
import { AgentError } from "../errors.js";
import { cleanEnvironment } from "./environment.js";
import { fileFilter } from "./list-files.js";
import { spawnGroup } from "./process-group.js";
import type { Match, SearchRequest } from "./search-request.js";

/** Where the binary is; null when it is not installed for this machine. */
export async function ripgrepPath(): Promise<string | null> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    return (await stat(rgPath)).isFile() ? rgPath : null;
  } catch {
    return null;
  }
}

export async function* searchWithRipgrep(binary: string, request: SearchRequest): AsyncGenerator<Match> {
  const { root, signal } = request;
  const isFile = (await stat(root)).isFile();
  const group = spawnGroup(binary, argumentsFor(request, isFile ? basename(root) : undefined), {
    cwd: isFile ? dirname(root) : root,
    env: cleanEnvironment(),
  });
  const { child } = group;
  // Not ripgrep's --glob: that would bring back what .gitignore leaves out.
  const wanted = fileFilter(request.glob);
  let complaint = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    if (complaint.length < 2000) complaint += bytes.toString();
  });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const failed = new Promise<never>((_, reject) => child.once("error", reject));
  failed.catch(() => {});
  const onAbort = () => group.sweep();
  signal.addEventListener("abort", onAbort, { once: true });
  let found = false;
  try {
    if (child.pid === undefined) await failed;
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream, crlfDelay: Infinity })) {
      const match = parse(line, isFile);
      found ||= match !== null;
      if (!match || !(isFile || wanted(match.path))) continue;
      yield match;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    group.sweep();
  }
  signal.throwIfAborted();
  await closed;
  if (!found && /regex (?:parse )?error/.test(complaint)) {
    throw new AgentError("bad_pattern", `The pattern cannot be used: ${complaint.trim()}`);
  }
}

// --- internal ---

function argumentsFor({ pattern, ignoreCase }: SearchRequest, file: string | undefined): string[] {
  const fixed = "--no-config --null --line-number --with-filename --no-heading --color=never --hidden --no-require-git";
  return [
    ...fixed.split(" "),
    "--max-columns=1000",
    "--max-columns-preview",
    "--sort=path",
    ...(ignoreCase ? ["--ignore-case"] : []),
    ...["!.git", "!.hg", "!.svn", "!node_modules"].map((left) => `--glob=${left}`),
    `--regexp=${pattern}`,
    "--",
    file === undefined ? "./" : `./${file}`,
  ];
}

function parse(line: string, isFile: boolean): Match | null {
  const parts = /^(?:\.\/)?([^\0]*)\0(\d+):(.*)$/s.exec(line);
  if (!parts) return null;
  const [, path = "", number = "", text = ""] = parts;
  return { path: isFile ? "" : path, line: Number(number), text };
}
