/** `@chimera/session/commands`: custom slash commands, Markdown files whose body is a prompt with placeholders. */
import { existsSync } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { parseFrontMatter } from "@chimera/acp-schema/front-matter";

export interface CommandArg {
  readonly name: string;
  readonly description: string;
}

export interface CustomCommand {
  readonly name: string;
  readonly description: string;
  readonly args: readonly CommandArg[];
  readonly body: string;
  /** The absolute path of its file. People see it, because a cloned project may replace one of their own commands. */
  readonly source: string;
}

/**
 * Finds the command files of a workspace. If two have the same name, the project's wins over the user's, then `.chimera` over `.opencode`
 * over `.claude`, then the plural directory over the singular.
 *
 * @example
 * const commands = await discoverCommands({ home: homedir(), cwd });
 */
export async function discoverCommands(places: {
  readonly home: string;
  readonly cwd: string;
}): Promise<CustomCommand[]> {
  // The user may link to files anywhere. A project may come from a stranger, so its links must stay inside it.
  const scopes = [{ root: places.home }, { root: places.cwd, within: places.cwd }];
  // Most directories have none of the places, and looking for those costs less than for each folder in them.
  const folders = scopes.flatMap(({ root, within }) =>
    PLACES.filter(({ place }) => existsSync(root + place)).flatMap(({ place, names }) =>
      names.map((name) => ({ folder: root + place + name, within })),
    ),
  );
  const found = new Map<string, CustomCommand>();
  // Read in parallel: every prompt waits for this.
  for (const commands of await Promise.all(folders.map(({ folder, within }) => readFolder(folder, within)))) {
    for (const command of commands) found.set(command.name, command);
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Text of a command file -> command. Null for an empty file. If the front matter cannot be read, the whole text is the body.
 *
 * @example
 * const command = await parseCommand("Review $1 with care.", "/home/me/.chimera/commands/review.md");
 */
export async function parseCommand(text: string, source: string): Promise<CustomCommand | null> {
  if (text.trim() === "") return null;
  const { head, body } = await parseFrontMatter(text);
  return {
    name: stringOf(head["name"]) ?? basename(source, ".md"),
    description: stringOf(head["description"]) ?? "",
    args: readArgs(head["args"]),
    body: withoutOuterBreaks(body),
    source,
  };
}

export interface CommandArguments {
  readonly positional: readonly string[];
  readonly named: ReadonlyMap<string, string>;
}

/**
 * Template + arguments -> prompt, in one pass: placeholders in arguments are not replaced, no shell runs, no file is read. Throws RangeError
 * if there are too many arguments or the result would be too large.
 *
 * @example
 * if (command) session.prompt({ text: renderCommand(command, splitArguments("src/page.ts")) });
 */
export function renderCommand(command: CustomCommand, { positional, named }: CommandArguments): string {
  if (positional.length + named.size > MAX_ARGUMENTS) {
    throw new RangeError(`/${command.name} takes at most ${MAX_ARGUMENTS} arguments`);
  }
  const values = new Map<string, string>([["ARGUMENTS", positional.join(" ")]]);
  for (const [index, value] of positional.entries()) values.set(String(index + 1), value);
  const keys = new Map([...named].map(([key, value]) => [key.toLowerCase(), value]));
  keys.delete("");
  // The longest name wins, $target2 over $target. A number is read as a whole: $10 is not $1 followed by a zero.
  const names = ["ARGUMENTS", ...keys.keys()].sort((a, b) => b.length - a.length).map(escapeRegExp);
  let size = command.body.length;
  return command.body.replace(new RegExp(`\\$(${names.join("|")}|\\d+)`, "gi"), (placeholder, name: string) => {
    const value = values.get(name) ?? keys.get(name.toLowerCase()) ?? placeholder;
    size += value.length;
    if (size > MAX_CHARS) throw new RangeError(`the prompt of /${command.name} would exceed ${MAX_CHARS} characters`);
    return value;
  });
}

/**
 * Splits the text after a command's name as a shell would: quotes group, `key=value` is named.
 *
 * @example
 * splitArguments("fix 'two words' depth=2"); // positional: "fix", "two words"; named: depth -> "2"
 */
export function splitArguments(text: string): CommandArguments {
  const positional: string[] = [];
  const named = new Map<string, string>();
  for (const token of text.matchAll(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g)) {
    const raw = token[0];
    const value = raw.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? "");
    const pair = /^([A-Za-z_][\w-]*)=/.exec(raw);
    if (pair) named.set(pair[1]!, value.slice(pair[0].length));
    else positional.push(value);
  }
  return { positional, named };
}

// --- internal ---

/** A larger file is not a prompt. */
const MAX_BYTES = 256 * 1024;
const MAX_FILES = 500;
/** Where command files are, as suffixes of a directory: joining paths would take longer than looking for them. */
const PLACES = [
  { place: `${sep}.claude`, names: [`${sep}commands`] },
  { place: `${sep}.opencode`, names: [`${sep}command`, `${sep}commands`] },
  { place: `${sep}.chimera`, names: [`${sep}command`, `${sep}commands`] },
];

async function readFolder(folder: string, within: string | undefined): Promise<CustomCommand[]> {
  // Most folders do not exist, and a synchronous check costs less than a rejected promise.
  if (!existsSync(folder)) return [];
  const names = await readdir(folder).catch(() => []);
  const files = names
    // Hidden files are drafts and locks of editors.
    .filter((name) => name.endsWith(".md") && !name.startsWith("."))
    .sort()
    .slice(0, MAX_FILES);
  const root = within && files.length > 0 ? await realpath(within).catch(() => within) : undefined;
  const commands = await Promise.all(files.map((name) => readCommand(join(folder, name), root)));
  return commands.filter((command) => command !== null);
}

async function readCommand(path: string, root: string | undefined): Promise<CustomCommand | null> {
  try {
    const real = await realpath(path);
    if (root !== undefined && !real.startsWith(root.endsWith(sep) ? root : root + sep)) return null;
    const found = await stat(real);
    return found.isFile() && found.size <= MAX_BYTES ? await parseCommand(await readFile(real, "utf8"), path) : null;
  } catch {
    // A file that vanished or cannot be read is left out. The others count.
    return null;
  }
}

/** Loops, because a regular expression with an anchor at the end would retry at every earlier run of line breaks. */
function withoutOuterBreaks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === "\n") start += 1;
  while (end > start && text[end - 1] === "\n") end -= 1;
  return text.slice(start, end);
}

function stringOf(value: unknown): string | undefined {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

function readArgs(value: unknown): CommandArg[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item): CommandArg[] => {
    if (typeof item === "string") return [{ name: item, description: "" }];
    if (typeof item !== "object" || item === null) return [];
    const fields = item as Record<string, unknown>;
    const name = stringOf(fields["name"]);
    return name === undefined ? [] : [{ name, description: stringOf(fields["description"]) ?? "" }];
  });
}

/** A rendered prompt larger than this is refused. */
const MAX_CHARS = 1024 * 1024;
/** Looking for this many placeholders is quick; a hundred thousand would block the event loop. */
const MAX_ARGUMENTS = 1000;

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
