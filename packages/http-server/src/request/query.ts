/** A request's query, by the route's schema; and the two kinds of value that several routes take. */
import { routes } from "@chimera/acp-schema/http";
import type { Context } from "hono";
import * as v from "valibot";
import type { RouteName } from "../auth/access.js";
import type { AppEnv } from "../deps.js";
import { HttpError } from "../errors.js";

type WithQuery = { [K in RouteName]: (typeof routes)[K] extends { query: v.GenericSchema } ? K : never }[RouteName];

export function readQuery<K extends WithQuery>(
  c: Context<AppEnv>,
  route: K,
): v.InferOutput<(typeof routes)[K]["query"]> {
  const parsed = v.safeParse(routes[route].query, c.req.query(), { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  throw invalidQuery(`${v.getDotPath(issue) ?? "query"}: ${issue.message}`);
}

/** A whole number; undefined when absent. */
export function readCount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[+-]?\d{1,15}$/.test(text.trim())) throw invalidQuery(`${name} must be a whole number`);
  return Number(text);
}

const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** `7d`, `24h`, `30m` before now, or a date in ISO 8601 (UTC unless it says otherwise), as epoch milliseconds. */
export function readSince(text: string | undefined, now: number): number | undefined {
  if (text === undefined || text.trim() === "") return undefined;
  const span = /^(\d{1,9})([smhdw])$/i.exec(text.trim());
  if (span) return now - Number(span[1]) * UNIT_MS[span[2]!.toLowerCase() as keyof typeof UNIT_MS];
  const iso = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i.exec(
    text.trim(),
  );
  const moment = iso ? Date.parse(`${iso[1]}T${iso[2] ?? "00:00"}${iso[3]?.toUpperCase() ?? "Z"}`) : Number.NaN;
  if (Number.isNaN(moment)) throw invalidQuery("since takes 7d, 24h, 30m or a date in ISO 8601");
  return moment;
}

// --- internal ---

function invalidQuery(detail: string): HttpError {
  return new HttpError(400, "invalid_query", detail, { fields: { detail } });
}
