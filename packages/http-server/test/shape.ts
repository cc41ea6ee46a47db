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

/** A failure of this status and code, which is one that the OpenAPI document names. */
export function expectError(answer: Answer, status: number, code: string): void {
  expect([answer.status, answer.body?.error]).toEqual([status, code]);
  expect(CODES).toContain(code);
  expect(v.is(ErrorReply, answer.body)).toBe(true);
  expect(answer.text).not.toContain("node_modules");
}
