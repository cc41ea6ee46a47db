/** Flags that several commands share, and their two spellings. */
import { configFlags, type Flag, type Flags, type FlagValues, UsageError } from "@chimera/host";

export const JSON_FLAG: Flags = { json: { type: "boolean", help: "Print JSON" } };
/** For every command that reads stored sessions. */
export const STORE_FLAG: Flags = configFlags("store");
export const NO_COLOR_FLAG: Flags = { "no-color": { type: "boolean", help: "No colours (also NO_COLOR=1)" } };
export const SINCE_FLAG: Flags = {
  since: { type: "string", value: "<when>", help: "Not older than 30m, 24h, 7d, or an ISO date" },
};
export const ALL_PROGRAMS_FLAG: Flags = {
  "all-clis": { type: "boolean", help: "Sessions of the other programs too" },
};

/** Adds each flag under a second name, which older scripts use. */
export function alsoSpelled(flags: Flags, prefix: string): Flags {
  const twins = Object.entries(flags).map(([name, flag]): [string, Flag] => {
    const { short: _, ...rest } = flag;
    return [`${prefix}-${name}`, { ...rest, help: `The same as --${name}` }];
  });
  return { ...flags, ...Object.fromEntries(twins) };
}

/** The value of a flag under either of its names. */
export function textFlag(flags: FlagValues, name: string, prefix?: string): string | undefined {
  return (flags[name] ?? (prefix === undefined ? undefined : flags[`${prefix}-${name}`])) as string | undefined;
}

export function isSet(flags: FlagValues, name: string, prefix?: string): boolean {
  return flags[name] === true || (prefix !== undefined && flags[`${prefix}-${name}`] === true);
}

/** Zero and negative numbers mean no limit. */
export function limitFlag(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  if (!/^-?\d{1,9}$/.test(text)) throw new UsageError(`--limit takes a whole number, not ${JSON.stringify(text)}`);
  return Number(text) > 0 ? Number(text) : Number.POSITIVE_INFINITY;
}

export function choiceFlag<T extends string>(name: string, text: string | undefined, words: readonly T[]): T {
  const found = text === undefined ? words[0] : words.find((word) => word === text);
  if (found !== undefined) return found;
  throw new UsageError(`--${name} takes one of ${words.join(", ")}, not ${JSON.stringify(text)}`);
}
