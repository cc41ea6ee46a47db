/** Flags drawn from the rows of the settings they set. */
import type { Flag, Flags } from "../command/flag.js";
import { CONFIG_KEYS, type ConfigKey, type ConfigName } from "./keys.js";

export function configFlags(...names: readonly ConfigName[]): Flags {
  return flagsOf(Object.fromEntries(names.map((name) => [name, CONFIG_KEYS[name]])));
}

/** The flags of any rows, by the names they are typed under. */
export function flagsOf(
  rows: Readonly<Record<string, Pick<ConfigKey<unknown>, "default" | "flag" | "value" | "help">>>,
): Flags {
  return Object.fromEntries(Object.values(rows).map((row) => [row.flag, flagOf(row)]));
}

// --- internal ---

function flagOf({ default: fallback, value, help }: Pick<ConfigKey<unknown>, "default" | "value" | "help">): Flag {
  return { type: typeof fallback === "boolean" ? "boolean" : "string", ...(value && { value }), help };
}
