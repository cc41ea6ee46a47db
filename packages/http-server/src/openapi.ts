/** The OpenAPI document, from the very schemas that validate requests, which are loaded when somebody asks for it. */
import { ACCESS, type RouteName } from "./auth/access.js";

interface RouteRow {
  readonly route: string;
  readonly status: number;
  readonly stream?: true;
  readonly query?: Reference;
  readonly body?: Reference;
  readonly reply?: Reference;
}

interface Reference {
  readonly $ref: string;
}

interface JsonSchema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

export async function describeApi(program: { readonly title: string; readonly version: string }) {
  const { default: schema } = await import("@chimera/acp-schema/schema/http.json", { with: { type: "json" } });
  const { "x-routes": rows, $defs } = JSON.parse(
    JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as { "x-routes": RouteRow[]; $defs: Record<string, JsonSchema> };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const row of rows) {
    const [method = "", path = ""] = row.route.split(" ");
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(row, path, $defs) };
  }
  return {
    openapi: "3.1.0",
    info: { title: program.title, version: program.version },
    security: [{ bearer: [] }],
    paths,
    components: { schemas: $defs, securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  };
}

// --- internal ---

function operation(row: RouteRow, path: string, schemas: Readonly<Record<string, JsonSchema>>) {
  const { status, stream, query, body, reply } = row;
  const type = stream ? "text/event-stream" : "application/json";
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: "path", required: true, schema: TEXT })),
    ...queryParameters(query, schemas),
    ...(stream ? STREAM_PARAMETERS : []),
  ];
  return {
    ...(ACCESS[row.route as RouteName] === "open" && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { content: { "application/json": { schema: body } } } }),
    responses: {
      [status]: {
        description: "success",
        ...((reply || stream) && { content: { [type]: { schema: reply ?? TEXT } } }),
      },
      default: {
        description: "failure",
        content: { "application/json": { schema: { $ref: "#/components/schemas/ErrorReply" } } },
      },
    },
  };
}

const TEXT = { type: "string" } as const;

const STREAM_PARAMETERS = [
  { name: "from", in: "query", required: false, schema: { const: "live" } },
  { name: "Last-Event-ID", in: "header", required: false, schema: TEXT },
] as const;

function queryParameters(query: Reference | undefined, schemas: Readonly<Record<string, JsonSchema>>) {
  const schema = query && schemas[query.$ref.split("/").at(-1) ?? ""];
  return Object.entries(schema?.properties ?? {}).map(([name, value]) => ({
    name,
    in: "query",
    required: schema?.required?.includes(name) ?? false,
    schema: value,
  }));
}
