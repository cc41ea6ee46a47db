/** The names of the limits in the configuration, in `GET /me` and in metrics. */
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

/** Every limit by that name. A limit that is not set is null. */
export function amounts(limits: Limits = {}): MeReply["limits"] {
  return Object.fromEntries(NAMES.map(([name, wire]) => [wire, limits[name] ?? null])) as MeReply["limits"];
}
