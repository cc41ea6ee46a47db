/** Answers against the schemas that document them. */

import { ErrorReply, type RouteName, routes, strict } from "@chimera/acp-schema/http";
import api from "@chimera/acp-schema/openapi.json" with { type: "json" };
import * as v from "valibot";
import { expect } from "vitest";
import type { Answer } from "./fixture.js";

type Replying = { [K in RouteName]: (typeof routes)[K] extends { reply: v.GenericSchema } ? K : never }[RouteName];

/** The route's own status and a body its schema accepts as it is, with nothing left over. */
export function expectReply(route: Replying, answer: Answer, status: number = routes[route].status): void {
  expect(`${answer.status} ${answer.text.slice(0, 300)}`).toMatch(new RegExp(`^${status} `));
  const parsed = v.safeParse(strict(routes[route].reply), answer.body);
  expect(parsed.issues?.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`)).toBeUndefined();
  const known = v.parse(routes[route].reply, answer.body);
  expect(known).toEqual(answer.body);
}

const CODES: readonly string[] = api.components.schemas.ErrorReply.properties.error.enum;

/** Codes of requests that reach no route, or no app. */
const OUTSIDE = new Set(["bad_request", "method_not_allowed", "request_timeout", "headers_too_large", "shutting_down"]);

type Codes = { readonly "x-codes"?: readonly string[] };
type Listed = Readonly<Record<string, { readonly responses: Readonly<Record<string, Codes>> }>>;

/** A failure has a code that the OpenAPI document lists for its route and status. */
export function expectListed(method: string, path: string, { status, body }: Answer): void {
  const code = body?.error;
  if (status < 400 || typeof code !== "string" || OUTSIDE.has(code)) return;
  const parts = (path.split("?")[0] ?? "").split("/");
  const found = Object.entries(api.paths as unknown as Readonly<Record<string, Listed>>)
    .filter(([pattern]) => {
      const names = pattern.split("/");
      return names.length === parts.length && names.every((name, at) => name.startsWith("{") || name === parts[at]);
    })
    .sort(([a], [b]) => a.split("{").length - b.split("{").length)[0]?.[1][method.toLowerCase()];
  if (found)
    expect({ [`${method} ${path}`]: found.responses[status]?.["x-codes"] }).toEqual({
      [`${method} ${path}`]: expect.arrayContaining([code]),
    });
}

/** A failure of this status and code, which is one that the OpenAPI document names. */
export function expectError(answer: Answer, status: number, code: string): void {
  expect([answer.status, answer.body?.error]).toEqual([status, code]);
  expect(CODES).toContain(code);
  expect(v.is(ErrorReply, answer.body)).toBe(true);
  expect(answer.text).not.toContain("node_modules");
}
