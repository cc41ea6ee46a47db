/** `@chimera/client/validate`: answers held against the schemas of the routes. An entry of its own, because the schemas are larger than the client. */
import { routes } from "@chimera/acp-schema/http";
import * as v from "valibot";
import { ClientError } from "./error.js";
import type { RouteName } from "./types.js";

/**
 * Throws `invalid_answer` where an answer is not what its route promises.
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
