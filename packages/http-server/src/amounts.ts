/** Limits, and what is used of them, under the names that configuration, `GET /me` and metrics have for them. */
import type { MeReply } from "@chimera/acp-schema/http";
import type { Limits } from "@chimera/session";

export const AMOUNTS: Readonly<Record<keyof Limits, keyof MeReply["limits"]>> = {
  sessions: "sessions",
  turns: "turns",
  promptsPerMinute: "prompts_per_minute",
  usdPerDay: "usd_per_day",
  streams: "streams",
  diskBytes: "disk_bytes",
};

const NAMES = Object.entries(AMOUNTS) as [keyof Limits, keyof MeReply["limits"]][];

/** Null where there is none. */
export function amounts(limits: Limits = {}): MeReply["limits"] {
  return Object.fromEntries(NAMES.map(([name, wire]) => [wire, limits[name] ?? null])) as MeReply["limits"];
}
