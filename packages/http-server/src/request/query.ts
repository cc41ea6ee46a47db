/** What a request asks for beside its body: its query, by the route's schema, and the directory it names. */
import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { type RouteName, routes } from "@chimera/acp-schema/http";
import { parsePageEnd } from "@chimera/event-store";
import type { Context } from "hono";
import * as v from "valibot";
import type { AppEnv } from "../deps.js";
import { HttpError } from "../http-error.js";

type WithQuery = { [K in RouteName]: (typeof routes)[K] extends { query: v.GenericSchema } ? K : never }[RouteName];

/** What is blank is as good as left out. */
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

/** Refuses a cursor that no list gave out. */
export function requirePlace(after: string | undefined): void {
  if (after === undefined) return;
  try {
    parsePageEnd(after);
  } catch (cause) {
    const detail = "after: not the `next` of another page";
    throw new HttpError(400, "invalid_query", detail, { cause, fields: { detail } });
  }
}

/** A directory of the caller's: absolute, so that it means the same to both, and there. */
export async function existingDirectory(directory: string, field: "cwd" | "working_dir"): Promise<string> {
  const refused = (why: string) => new HttpError(400, `invalid_${field}`, `${field} ${why}`);
  if (!isAbsolute(directory) || directory.includes("\0")) throw refused("must be an absolute path");
  const found = await stat(directory).catch(() => null);
  if (!found?.isDirectory()) throw refused(found ? "is not a directory" : "does not exist");
  return directory;
}
