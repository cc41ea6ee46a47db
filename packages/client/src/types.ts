/** The types of calls, derived from the table of routes. No code is generated, and the bundle contains none of it. */
import type { routes } from "@chimera/acp-schema/http";
import type { GenericSchema, InferInput, InferOutput } from "valibot";

type Routes = typeof routes;

/** `METHOD /path`, as in the table of routes. */
export type RouteName = keyof Routes & string;

/** The routes that answer with server-sent events, which `follow` and `watch` read. */
export type StreamName = { [N in RouteName]: Routes[N] extends { stream: true } ? N : never }[RouteName];

type ParameterNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterNames<Rest>
  : never;

type Named<Key extends string, Given> =
  Record<never, never> extends Given ? { [K in Key]?: Given } : { [K in Key]: Given };

/** A query as a program has it: numbers and booleans too, which are sent as text. What is undefined is left out. */
type AsText<Query> = {
  [K in keyof Query]:
    | Query[K]
    | (K extends "limit" | "turn" ? number : [Query[K]] extends ["true" | "false" | undefined] ? boolean : never);
};

/** The path's parameters, `query` and `body` of a route in one object. */
export type Input<N extends RouteName> = { [K in ParameterNames<N>]: string } & (Routes[N] extends {
  query: infer Query extends GenericSchema;
}
  ? Named<"query", AsText<InferInput<Query>>>
  : unknown) &
  (Routes[N] extends { body: infer Body extends GenericSchema } ? Named<"body", InferInput<Body>> : unknown) &
  // With `stream` the answer would be events, which no call reads.
  (N extends "POST /runs" ? { body: { mode?: "sync" | "async" | undefined } } : unknown);

/** The answer of a route: the body of its schema; undefined for 204; unknown if the table has no schema. */
export type Output<N extends RouteName> = Routes[N] extends { reply: infer Reply extends GenericSchema }
  ? InferOutput<Reply>
  : Routes[N] extends { status: 204 }
    ? undefined
    : unknown;
