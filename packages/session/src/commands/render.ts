/** Template + arguments -> prompt, in one pass: no argument is looked at again, no shell runs, no file is read. */
import type { CustomCommand } from "./command.js";

/** A rendered prompt larger than this is refused. */
const MAX_CHARS = 1024 * 1024;
/** Looking for this many placeholders is quick; a hundred thousand would block the event loop. */
const MAX_ARGUMENTS = 1000;

export interface CommandArguments {
  readonly positional: readonly string[];
  readonly named: ReadonlyMap<string, string>;
}

/** Throws RangeError when there are too many arguments or the result would be too large. */
export function renderCommand(command: CustomCommand, { positional, named }: CommandArguments): string {
  if (positional.length + named.size > MAX_ARGUMENTS) {
    throw new RangeError(`/${command.name} takes at most ${MAX_ARGUMENTS} arguments`);
  }
  const values = new Map<string, string>([["ARGUMENTS", positional.join(" ")]]);
  for (const [index, value] of positional.entries()) values.set(String(index + 1), value);
  const keys = new Map([...named].map(([key, value]) => [key.toLowerCase(), value]));
  keys.delete("");
  // The longest name wins, $target2 before $target, and a number is read whole: $10 is never $1 and a zero.
  const names = ["ARGUMENTS", ...keys.keys()].sort((a, b) => b.length - a.length).map(escapeRegExp);
  let size = command.body.length;
  return command.body.replace(new RegExp(`\\$(${names.join("|")}|\\d+)`, "gi"), (placeholder, name: string) => {
    const value = values.get(name) ?? keys.get(name.toLowerCase()) ?? placeholder;
    size += value.length;
    if (size > MAX_CHARS) throw new RangeError(`the prompt of /${command.name} would exceed ${MAX_CHARS} characters`);
    return value;
  });
}

/** Splits the text after a command's name as a shell would: quotes group, `key=value` is named. */
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

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
