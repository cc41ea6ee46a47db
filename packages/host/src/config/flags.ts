/** The flags of settings, made from the rows of those settings. */
import type { Flag, Flags } from "../command/flag.js";
import { CONFIG_KEYS, type ConfigKey, type ConfigName } from "./keys.js";

export function configFlags(...names: readonly ConfigName[]): Flags {
  return flagsOf(Object.fromEntries(names.map((name) => [name, CONFIG_KEYS[name]])));
}

/** The flags of those rows that have one, by the name to type. */
export function flagsOf(rows: Readonly<Record<string, FlagRow>>): Flags {
  const typed = Object.values(rows).flatMap((row) =>
    row.flag === undefined ? [] : [[row.flag, flagOf(row)] as const],
  );
  return Object.fromEntries(typed);
}

// --- internal ---

type FlagRow = Pick<ConfigKey<unknown>, "default" | "flag" | "value" | "repeatable" | "help">;

function flagOf({ default: fallback, value, repeatable, help }: FlagRow): Flag {
  const type = typeof fallback === "boolean" ? "boolean" : "string";
  return { type, ...(value && { value }), ...(repeatable && { multiple: true }), help };
}
