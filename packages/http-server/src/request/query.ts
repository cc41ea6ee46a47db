/** A request's query, by the route's schema. */
import { routes } from "@chimera/acp-schema/http";
import type { Context } from "hono";
import * as v from "valibot";
import type { RouteName } from "../auth/access.js";
import type { AppEnv } from "../deps.js";
import { HttpError } from "../errors.js";

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
