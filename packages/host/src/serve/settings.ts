/** What the flags of `serve` mean; a value that makes no sense is a usage error before anything is bound. */
import { resolve } from "node:path";
import type { DialectName } from "@chimera/acp-server";
import type { Durability } from "@chimera/event-store";
import type { FlagValues } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import { LOG_LEVELS, type LogLevel } from "../log.js";
import type { Profile } from "../profile.js";

export interface ServeSettings {
  readonly acp: boolean;
  readonly http: boolean;
  readonly host: string;
  readonly port: number;
  readonly cwd: string;
  readonly model: string | null;
  readonly allowedTools: readonly string[] | null;
  readonly maxSteps: number;
  readonly maxCostUsd: number | null;
  readonly sessionTtl: number | null;
  readonly durability: Durability;
  readonly permissionTimeout: number;
  readonly coalesce: boolean;
  readonly forced: DialectName | null;
  readonly logLevel: LogLevel;
}

export function readServeSettings(profile: Profile, flags: FlagValues, cwd: string): ServeSettings {
  const text = (name: string) => flags[name] as string | undefined;
  const acp = flags["acp"] === true || (profile.defaultTransport === "acp" && flags["http"] !== true);
  return {
    acp,
    http: flags["http"] === true || !acp,
    host: text("host") ?? "127.0.0.1",
    port: number("port", text("port"), 5173, { integer: true, max: 65535 }),
    cwd: resolve(cwd, text("cwd") ?? "."),
    model: text("model") ?? null,
    allowedTools:
      text("allowed-tools")
        ?.split(",")
        .map((name) => name.trim())
        .filter(Boolean) ?? null,
    maxSteps: number("max-steps", text("max-steps"), 50, { integer: true, min: 1 }),
    maxCostUsd: text("max-cost") === undefined ? null : number("max-cost", text("max-cost"), 0, {}),
    sessionTtl: number("session-ttl", text("session-ttl"), 3600, {}) || null,
    durability: oneOf("durability", text("durability"), ["turn", "event", "none"], "turn"),
    permissionTimeout: number("permission-timeout", text("permission-timeout"), 0, {}),
    coalesce: flags["no-coalesce"] !== true,
    forced: oneOf("acp-dialect", text("acp-dialect"), ["acp", "otter", "ferret", "auto"], "auto", { auto: null }),
    logLevel: oneOf("log-level", text("log-level"), LOG_LEVELS, "info"),
  };
}

// --- internal ---

function number(
  name: string,
  text: string | undefined,
  fallback: number,
  bounds: { readonly integer?: boolean; readonly min?: number; readonly max?: number },
): number {
  if (text === undefined) return fallback;
  const { integer = false, min = 0, max = Number.MAX_SAFE_INTEGER } = bounds;
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value) && value >= min && value <= max && (!integer || Number.isInteger(value))) return value;
  const kind = integer ? "a whole number" : "a number";
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new UsageError(`--${name} takes ${kind} ${range}, not ${JSON.stringify(text)}`);
}

function oneOf<T extends string>(name: string, text: string | undefined, words: readonly T[], fallback: T): T;
function oneOf<T extends string, K extends T>(
  name: string,
  text: string | undefined,
  words: readonly T[],
  fallback: T,
  meaning: Readonly<Record<K, null>>,
): Exclude<T, K> | null;
function oneOf(
  name: string,
  text: string | undefined,
  words: readonly string[],
  fallback: string,
  meaning: Readonly<Record<string, null>> = {},
): string | null {
  const word = text ?? fallback;
  if (!words.includes(word))
    throw new UsageError(`--${name} takes one of ${words.join(", ")}, not ${JSON.stringify(word)}`);
  return word in meaning ? null : word;
}
