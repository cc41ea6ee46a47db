// Writes schema/*.json: the schemas of each protocol as JSON Schema, in their writing mode, for programs in other languages.
// An entry that extends another one exports only its own schemas, but its file here has all of them.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { toJsonSchemaDefs } from "@valibot/to-json-schema";
import * as content from "../dist/acp/content.js";
import * as events from "../dist/events/index.js";
import * as value from "../dist/events/value.js";
import * as ferret from "../dist/ferret/index.js";
import * as http from "../dist/http/index.js";
import * as acp from "../dist/index.js";
import * as otter from "../dist/otter/index.js";
import * as unstable from "../dist/unstable/index.js";
import { describeFields, describeRecords } from "./field-comments.mjs";
import { describeApi } from "./openapi.mjs";

const folder = new URL("../schema/", import.meta.url);
const entries = {
  acp,
  "acp.unstable": { ...acp, ...unstable },
  otter,
  ferret: { ...otter, ...ferret },
  events,
  http,
};

/** What HTTP uses unchanged of records and of ACP, under its own name. */
const { CommandsChanged: _, change: __, rewind: ___, json: ____, ...records } = schemasIn(value);
const { Annotations, ContentBlock, EmbeddedResourceResource } = content;
const shapes = { http: { ...records, Annotations, ContentBlock, EmbeddedResourceResource } };
/** The files whose comments describe the fields. */
const sources = {
  events: ["events/index.ts", "events/value.ts"],
  http: ["http/index.ts", "events/value.ts", "acp/content.ts"],
};

mkdirSync(folder, { recursive: true });
const written = Object.fromEntries(Object.entries(entries).map(([name, exports]) => [name, describe(name, exports)]));
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
for (const [name, schema] of Object.entries({ ...written, openapi: describeApi({ ...written, version }) })) {
  writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify(schema, null, 2)}\n`);
}

function describe(name, exports) {
  const schemas = {
    ...shapes[name],
    ...schemasIn(exports),
    ...nested(exports.metadata),
    ...nested(exports.sessionStream, "stream."),
    ...nested(exports.manyStream, "many."),
  };
  const $defs = toJsonSchemaDefs(schemas, {
    typeMode: "input",
    errorMode: "ignore",
    target: "draft-2020-12",
    overrideSchema,
  });
  if (sources[name]) describeFields(sources[name], $defs);
  if ($defs.SessionRecordSchema) describeRecords($defs.SessionRecordSchema);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: `@chimera/acp-schema ${name}`,
    ...(exports.agentMethods && { "x-methods": methods(exports, schemas) }),
    ...(exports.routes && { "x-routes": routes(exports.routes, schemas) }),
    $defs,
  };
}

/** Converts the schemas that JSON Schema writes in another way: free-form objects and enums that may grow. */
function overrideSchema({ valibotSchema, jsonSchema }) {
  if (valibotSchema.type === "custom") return { type: "object" };
  if (valibotSchema.words)
    return { anyOf: [...valibotSchema.words.map((word) => ({ const: word })), { type: "string" }] };
  return jsonSchema;
}

function schemasIn(exports) {
  return Object.fromEntries(Object.entries(exports).filter(([, value]) => value?.kind === "schema"));
}

function nested(table = {}, prefix = "") {
  const found = Object.entries(table).filter(([, value]) => value?.kind === "schema");
  return Object.fromEntries(found.map(([name, schema]) => [`${prefix}${name}`, schema]));
}

function methods({ agentMethods, clientMethods, protocolMethods, proxyMethods }, schemas) {
  return [agentMethods, clientMethods, protocolMethods, proxyMethods]
    .flatMap((table) => Object.values(table ?? {}))
    .map(({ params, result, ...row }) => ({ ...row, params: ref(params, schemas), result: ref(result, schemas) }));
}

function routes(table, schemas) {
  return Object.entries(table).map(([route, { query, body, reply, ...row }]) => ({
    route,
    ...row,
    query: ref(query, schemas),
    body: ref(body, schemas),
    reply: ref(reply, schemas),
  }));
}

function ref(schema, schemas) {
  if (!schema) return undefined;
  const name = Object.keys(schemas).find((key) => schemas[key] === schema);
  if (!name) throw new Error("a method or route uses a schema that its entry does not export");
  return { $ref: `#/$defs/${name}` };
}
