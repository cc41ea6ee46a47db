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
    return [...parameters, ...bodies]
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

test("the events of GET /events are described correctly", () => {
  const { events } = api.paths["/events"].get["x-sse"];
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(api, "api");
  const isValid = (name: string, data: object) => ajv.validate({ $ref: `api${events[name].$ref}` }, data);
  expect(isValid("record", { session_id: "otter-1", record: { seq: 1, type: "text_delta" } })).toBe(true);
  expect(isValid("row", { session_id: "otter-1", row: null })).toBe(true);
  expect(isValid("row", { row: null })).toBe(false);
});
