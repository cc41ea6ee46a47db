/** Unknown names in a request: a warning, or with `Prefer: handling=strict` a refusal. */
import { type RouteName, routes } from "@chimera/acp-schema/http";
import type { Context } from "hono";
import type { AppEnv } from "../deps.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";

type Part = "query" | "body";

/** Warns about each name that the route's schema does not have. Never repeats a value: it may be a secret in the wrong place. */
export function noteUnknown(c: Context<AppEnv>, route: RouteName, part: Part, names: readonly string[]): void {
  const known = knownNames(route, part);
  const unknown = names.filter((name) => !known.has(name)).map(shown);
  if (unknown.length === 0) return;
  const left = unknown.splice(LIMITS.notedNames).length;
  const notes = unknown.map((name) => `${part}: ${route} has no ${name}; it was ignored`);
  if (left > 0) notes.push(`${part}: ${left} more names were ignored`);
  if (prefers(c, "handling=strict")) {
    const list = known.size > 0 ? `; it has ${[...known].join(", ")}` : "";
    throw new HttpError(400, "unknown_field", `${part}: ${route} has no ${unknown.join(", ")}${list}`, {
      fields: { detail: unknown },
    });
  }
  // A request that is tried again comes here a second time with the same names.
  const all = [...new Set([...(c.get("warnings") ?? []), ...notes])];
  c.set("warnings", all);
  // An answer that is not JSON has its warnings only in this header.
  const header = all.join(", ");
  if (c.env?.outgoing) c.env.outgoing.setHeader("X-Warnings", header);
  else c.header("X-Warnings", header);
}

/** Whether the request has this preference in its `Prefer` header. */
export function prefers(c: Context<AppEnv>, preference: string): boolean {
  const given = c.req.header("prefer")?.split(/[,;]/) ?? [];
  return given.some((one) => one.trim().toLowerCase() === preference);
}

// --- internal ---

const NAMES = new Map<string, ReadonlySet<string>>();

function knownNames(route: RouteName, part: Part): ReadonlySet<string> {
  const key = `${part} ${route}`;
  const found = NAMES.get(key);
  if (found) return found;
  const row = routes[route] as { readonly [P in Part]?: { readonly entries?: object } };
  const { entries = {} } = row[part] ?? {};
  const names = new Set(Object.keys(entries));
  NAMES.set(key, names);
  return names;
}

/** Encodes a name so that a header can carry it. */
function shown(name: string): string {
  return encodeURIComponent(name.slice(0, 64).replace(/[\ud800-\udfff]/g, "?"));
}
