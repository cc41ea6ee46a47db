import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { routes } from "../src/http/index.js";

// biome-ignore lint/suspicious/noExplicitAny: the document has many shapes.
type Loose = any;
const api: Loose = JSON.parse(readFileSync(new URL("../schema/openapi.json", import.meta.url), "utf8"));
const operations = Object.entries<object>(api.paths).flatMap(([path, methods]) =>
  Object.entries<Loose>(methods).map(([method, operation]) => ({
    route: `${method.toUpperCase()} ${path}`,
    operation,
  })),
);

test("the OpenAPI document has every route, each with a name, a summary, a tag and its errors", () => {
  expect(operations.map(({ route }) => route).sort()).toEqual(Object.keys(routes).sort());
  const names = operations.map(({ operation }) => operation.operationId);
  expect(new Set(names).size).toBe(names.length);
  for (const { route, operation } of operations) {
    expect([route, operation.operationId]).toEqual([route, expect.stringMatching(/^[a-z][A-Za-z]+$/)]);
    expect([route, operation.summary, operation.tags]).toEqual([
      route,
      expect.stringMatching(/^[A-Z]/),
      [expect.any(String)],
    ]);
    expect(operation.responses.default).toBeDefined();
    if (!operation.security)
      expect([route, operation.responses["401"]?.["x-codes"]]).toEqual([route, ["unauthorized"]]);
  }
  expect(api.components.schemas.ErrorReply.properties.error.enum).toContain("session_not_found");
});

test("every operation shows an example of each parameter, of its body and of its answer", () => {
  const without = operations.flatMap(({ route, operation }) => {
    const { parameters = [], requestBody, responses } = operation;
    const answers = Object.entries<Loose>(responses).filter(([status]) => status.startsWith("2"));
    const bodies = [["body", requestBody] as const, ...answers].flatMap(([name, body]) =>
      Object.entries<Loose>(body?.content ?? {}).map(([type, media]) => ({ name: `${name} ${type}`, ...media })),
    );
    const resolved = parameters.map((one: Loose) => api.components.parameters[one.$ref?.split("/").at(-1)] ?? one);
    return [...resolved, ...bodies]
      .filter(({ example }) => example === undefined)
      .map(({ name }) => `${route}: ${name}`);
  });
  // What is accepted here is answered without a body.
  expect(without).toEqual(["POST /acp: 202 application/json", "DELETE /acp: 202 application/json"]);
  const silent = operations.filter(({ operation }) => !JSON.stringify(operation).includes('"example":'));
  expect(silent).toEqual([]);
});

test("every reference resolves, every schema is used, and every example is valid", () => {
  const text = JSON.stringify(api);
  const referred = new Set([...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name));
  expect([...referred].sort()).toEqual(Object.keys(api.components.schemas).sort());
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(api, "api");
  const parts = [...text.matchAll(/"example":/g)];
  let checked = 0;
  const look = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { schema = {}, example } = node as { schema?: object; example?: unknown };
    if (example !== undefined) {
      const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')));
      expect([schema, validate(example), validate.errors]).toEqual([schema, true, null]);
      checked++;
    }
    for (const value of Object.values(node)) look(value);
  };
  look(api);
  expect(checked).toBe(parts.length);
});

test("every field of the schemas is described, those of answers have the warnings, and every failure has its codes", () => {
  const { schemas } = api.components;
  expect(schemas.SessionRow.properties.created_at.description).toBe(
    "The time when the session was made, in seconds since 1970.",
  );
  expect(schemas.ShareReply.oneOf[0].properties.format.description).toBe("The form of the transcript.");
  expect(schemas.HealthReply.properties.warnings.type).toBe("array");
  expect(schemas.SessionDetail.properties.events.items).toEqual({ $ref: "#/components/schemas/RecordOrLoss" });
  const codes = (path: string, method: string) =>
    Object.values<Loose>(api.paths[path][method].responses).flatMap((answer) => answer["x-codes"] ?? []);
  expect(codes("/page/tokens", "post")).toEqual(
    expect.arrayContaining(["unauthorized", "invalid_body", "json_required"]),
  );
  expect(codes("/sessions/{id}/turns", "post")).toEqual(
    expect.arrayContaining(["budget_spent", "limit_reached", "read_only", "key_reused", "expected_json_object"]),
  );
  expect(Object.keys(api.paths["/runs"].post.responses["200"].content)).toEqual([
    "application/json",
    "text/event-stream",
  ]);
  // Each code is one that some operation names, but for those of requests that reach no route.
  const named = new Set(
    operations.flatMap(({ route }) => codes(route.split(" ")[1] ?? "", route.split(" ")[0]!.toLowerCase())),
  );
  const rest = schemas.ErrorReply.properties.error.enum.filter((code: string) => !named.has(code));
  expect(rest).toEqual(["bad_request", "method_not_allowed", "request_timeout", "headers_too_large", "shutting_down"]);
});

test("the events of GET /events are described correctly", () => {
  const { events } = api.paths["/events"].get["x-sse"];
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(api, "api");
  const isValid = (name: string, data: object) => ajv.validate({ $ref: `api${events[name].$ref}` }, data);
  const record = { seq: 1, id: "evt-7c8a4f1e", type: "text_delta", turn: 0, ts: "2026-04-25T12:03:00.000Z" };
  const loss = {
    type: "notice",
    turn: null,
    metadata: { level: "error", text: "lost" },
    missing: { first: 2, last: 3 },
  };
  expect(isValid("record", { session_id: "otter-1", record: { ...record, metadata: { text: "hi" } } })).toBe(true);
  expect(isValid("record", { session_id: "otter-1", record: loss })).toBe(true);
  expect(isValid("record", { session_id: "otter-1", record })).toBe(false);
  expect(isValid("row", { session_id: "otter-1", row: null })).toBe(true);
  expect(isValid("row", { row: null })).toBe(false);
});
