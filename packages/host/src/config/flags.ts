/** Flags drawn from the rows of the settings they set. */
import type { Flag, Flags } from "../command/command.js";
import { CONFIG_KEYS, type ConfigName } from "./keys.js";

export function configFlags(...names: readonly ConfigName[]): Flags {
  return Object.fromEntries(names.map((name) => [CONFIG_KEYS[name].flag, flagOf(name)]));
}

// --- internal ---

function flagOf(name: ConfigName): Flag {
  const { default: fallback, value, help } = CONFIG_KEYS[name];
  return { type: typeof fallback === "boolean" ? "boolean" : "string", ...(value && { value }), help };
}
