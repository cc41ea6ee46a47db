/** Tests the built package: its JSON Schemas, the size of its entries, and the example that uses them. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { Ajv2020 } from "ajv/dist/2020.js";
import { build } from "esbuild";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const readSchema = (name: string) => JSON.parse(readFileSync(`${root}schema/${name}.json`, "utf8"));

async function weigh(code: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: root },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
  });
  return gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).byteLength;
}

test("every entry has a JSON Schema that compiles and refers only to itself", () => {
  // The OpenAPI document is not a schema and has a test of its own.
  const files = readdirSync(`${root}schema`).filter((file) => file !== "openapi.json");
  const names = files.map((file) => file.replace(".json", ""));
  expect(names.sort()).toEqual(["acp", "acp.unstable", "events", "ferret", "http", "otter"]);
  for (const name of names) {
    // The compiled validators do not run, and optimizing them would take half of the time.
    const unoptimized = { inlineRefs: false, code: { optimize: false } } as const;
    const ajv = new Ajv2020({ strict: false, formats: { uri: true, "date-time": true }, ...unoptimized });
    ajv.addSchema({ $id: name, ...readSchema(name) });
    for (const definition of Object.keys(readSchema(name).$defs)) {
      expect(() => ajv.compile({ $ref: `${name}#/$defs/${definition}` }), `${name} ${definition}`).not.toThrow();
    }
  }
});

test("the JSON Schema of ACP refuses the same values as writing", () => {
  const ajv = new Ajv2020({ strict: false, formats: { uri: true, "date-time": true } });
  ajv.addSchema({ $id: "acp", ...readSchema("acp") });
  const validate = ajv.compile({ $ref: "acp#/$defs/SessionNotification" });
  const update = { sessionUpdate: "tool_call", toolCallId: "c", title: "t", kind: "read" };
  expect(validate({ sessionId: "s", update })).toBe(true);
  expect(validate({ sessionId: "s", update: { ...update, kind: "reed" } })).toBe(false);
});

test("the whole protocol has at most 10 kB compressed, and each schema at most 6 kB", async () => {
  expect(await weigh('export * from "./dist/index.js"')).toBeLessThanOrEqual(10_000);
  for (const name of ["SessionNotification", "InitializeResponse", "CreateElicitationRequest", "NewSessionRequest"]) {
    const one = `export { ${name} } from "./dist/index.js"; export { parse } from "valibot"`;
    expect(await weigh(one), name).toBeLessThanOrEqual(6_000);
  }
});

test("the editor example reads its conversation in a browser bundle", () => {
  const example = fileURLToPath(new URL("../../../examples/ide-client/main.mjs", import.meta.url));
  expect(execFileSync(process.execPath, [example], { encoding: "utf8" })).toMatch(/bundle .* kB, gzip .* kB/);
});
