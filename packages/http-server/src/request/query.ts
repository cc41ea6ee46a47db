/** Checks the query of a request by the route's schema, and the directory that a request names. */
import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { type RouteName, routes } from "@chimera/acp-schema/http";
import { parsePageEnd } from "@chimera/event-store";
import type { Context } from "hono";
import * as v from "valibot";
import type { AppEnv } from "../deps.js";
import { HttpError } from "../http-error.js";

type WithQuery = { [K in RouteName]: (typeof routes)[K] extends { query: v.GenericSchema } ? K : never }[RouteName];

/** A blank value counts as absent. */
export function readQuery<K extends WithQuery>(
  c: Context<AppEnv>,
  route: K,
): v.InferOutput<(typeof routes)[K]["query"]> {
  const given = Object.entries(c.req.query()).filter(([, value]) => value.trim() !== "");
  const parsed = v.safeParse(routes[route].query, Object.fromEntries(given), { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const detail = `${v.getDotPath(issue) ?? "query"}: ${issue.message}`;
  throw new HttpError(400, "invalid_query", detail, { fields: { detail } });
}

/** Throws `invalid_query` if `after` is not the `next` of a page of a list. */
export function requirePageEnd(after: string | undefined): void {
  if (after === undefined) return;
  try {
    parsePageEnd(after);
  } catch (cause) {
    const detail = "after: not the `next` of another page";
    throw new HttpError(400, "invalid_query", detail, { cause, fields: { detail } });
  }
}

/** Checks that the directory that a caller names is an absolute path and exists. */
export async function existingDirectory(directory: string, field: "cwd" | "working_dir"): Promise<string> {
  const refused = (why: string) => new HttpError(400, `invalid_${field}`, `${field} ${why}`);
  if (!isAbsolute(directory) || directory.includes("\0")) throw refused("must be an absolute path");
  const found = await stat(directory).catch(() => null);
  if (!found?.isDirectory()) throw refused(found ? "is not a directory" : "does not exist");
  return directory;
}
