/** Explains what is wrong with a command line: an unknown option names the nearest known one. */
import { actionsOf, type Command } from "./command.js";
import type { Flags } from "./flag.js";
import { nearest, UsageError } from "./usage-error.js";

/** @param error the error of `parseArgs`; any other error stays as it is */
export function explain(error: unknown, command: Command, flags: Flags): unknown {
  const { code, message } = error as { code?: string; message: string };
  const typed = /'(?:-\w, )?(-[^' ]*)/.exec(message)?.[1] ?? "option";
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const word = typed.replace(/^-+/, "");
    // What a person must type before the action, as in `export <id> html`.
    const [before] = /^(<[^>]*> )*/.exec(command.operands ?? "") ?? [];
    const near = nearest(word, Object.keys(flags));
    const meant = actionsOf(command).includes(word) ? `${command.name} ${before}${word}` : near && `--${near}`;
    return new UsageError(`unknown option ${typed}; ${meant ? `did you mean ${meant}?` : "--help lists them"}`);
  }
  if (code !== "ERR_PARSE_ARGS_INVALID_OPTION_VALUE") return error;
  const row = Object.entries(flags).find(([name, { short }]) => [`--${name}`, `-${short}`].includes(typed));
  if (row?.[1].type !== "string") return new UsageError(`${typed} takes no value`);
  const [name, { value }] = row;
  const dashed = message.includes("ambiguous") ? `; one that begins with a dash is written --${name}=-…` : "";
  return new UsageError(`--${name} needs a value: --${name} ${value}${dashed}`);
}
