/** `@chimera/client/validate`: checks answers by the routes' schemas. A separate entry, because the schemas are larger than the client. */
import { routes } from "@chimera/acp-schema/http";
import * as v from "valibot";
import { ClientError } from "./error.js";
import type { RouteName } from "./types.js";

/**
 * Throws `invalid_answer` for an answer that does not fit its route's schema.
 *
 * @example
 * const client = createClient({ url, validate: validateAnswer });
 */
export function validateAnswer(route: RouteName, answer: unknown): void {
  const row = routes[route] as { readonly reply?: v.GenericSchema };
  if (!row.reply || answer === undefined) return;
  const { issues } = v.safeParse(row.reply, answer, { abortEarly: true });
  const [issue] = issues ?? [];
  if (issue) throw new ClientError("invalid_answer", `${route}: ${v.getDotPath(issue) ?? "answer"}: ${issue.message}`);
}
