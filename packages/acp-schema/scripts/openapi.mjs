// Makes the OpenAPI 3.1 document from the table of routes, the schemas and the operations. The server fills in its title and version.
import { ERRORS } from "../dist/http/errors.js";
import { exampleOf } from "./example.mjs";
import { schemaOfInterface } from "./field-comments.mjs";
import {
  acpInitialize,
  acpInitialized,
  METRICS,
  streamExample,
  transcriptExamples,
  withExample,
} from "./http-examples.mjs";
import { areas, impliedCodes, operations } from "./http-operations.mjs";

const TEXT = { type: "string" };
const ref = (name) => ({ $ref: `#/components/schemas/${name}` });
const SECONDS = { type: "integer", minimum: 1 };
const headers = {
  "X-Request-Id": { description: "Finds the request in the server's log", schema: TEXT },
  "X-Warnings": { description: "The warnings, joined by commas; absent if there are none", schema: TEXT },
  "Acp-Connection-Id": { description: "Names the connection in every later request", schema: TEXT },
  "WWW-Authenticate": { description: "`Bearer`, with 401", schema: TEXT },
  Allow: { description: "The methods of the path, with 405", schema: TEXT },
  "Retry-After": {
    description: "Seconds after which to try again, with 503, `limit_reached` and `too_many_refusals`",
    schema: SECONDS,
  },
};
const answered = (...names) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
const HEADERS = answered("X-Request-Id", "X-Warnings");
/** Of failures with a status. */
const FAILURE_HEADERS = { 401: ["WWW-Authenticate"], 405: ["Allow"], 429: ["Retry-After"], 503: ["Retry-After"] };
/** Headers that every request may have. */
const EVERY_REQUEST = ["Prefer", "X-Request-Id"];
const WARNINGS = {
  type: "array",
  items: TEXT,
  description:
    "The names in the query and the body that the route does not know, and ignored. Absent if there are none.",
};
/** A message that is none. */
const RPC_FAILURE = {
  type: "object",
  description: "The failure of a message that cannot be read, as JSON-RPC has it.",
  properties: {
    jsonrpc: { const: "2.0", description: "Always `2.0`." },
    id: { type: "null", description: "Always null: the message has no id that can be read." },
    error: {
      type: "object",
      description: "The failure.",
      properties: {
        code: { type: "integer", description: "The code of JSON-RPC." },
        message: { ...TEXT, description: "What went wrong, in words." },
        data: {
          type: "object",
          description: "What else is known.",
          properties: { request_id: { ...TEXT, description: "Finds the request in the server's log." } },
        },
      },
      required: ["code", "message"],
    },
  },
  required: ["jsonrpc", "id", "error"],
};
/** The beginning of the document itself. */
const DESCRIPTION = { openapi: "3.1.0", info: { title: "otter", version: "1.0.0" }, paths: {} };
const KEYED = /^POST .*\/(sessions?|runs|turns|message|fork|invoke)$/;

/** @param http, events the JSON Schema files @param version the version of the package */
export function describeApi({ http, events, version }) {
  const all = { ...schemasOf(events), ...schemasOf(http) };
  all.RecordOrLoss = { anyOf: [ref("SessionRecordSchema"), ref("Loss")], description: all.RecordOrLoss.description };
  all.SessionSummary = schemaOfInterface("summary.ts", "Summary");
  for (const { reply } of http["x-routes"]) if (reply) warn(all[nameOf(reply.$ref)]);
  all.ErrorReply.properties.error.enum = Object.values(ERRORS).flat();
  const paths = {};
  for (const row of JSON.parse(toComponents(http["x-routes"]))) {
    const [method, path] = row.route.split(" ");
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(row, path, all) };
  }
  const any = Object.keys(headers).filter((name) => name !== "Acp-Connection-Id");
  const responses = { Failure: failure("Any other failure", Object.values(ERRORS).flat(), any) };
  const document = {
    openapi: "3.1.0",
    info: {
      title: "chimera",
      version,
      description: "Sessions of coding agents over HTTP: prompts, event streams that resume, permissions, undo.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: [...new Set(Object.keys(paths).map(tagOf))].map((name) => ({ name, description: areaOf(name) })),
    paths,
    components: {
      schemas: used({ paths, responses }, all),
      responses,
      headers,
      parameters: Object.fromEntries(EVERY_REQUEST.map((name) => [name, requestHeader(name)])),
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    },
  };
  return document;
}

function operation(access, path, schemas) {
  const { route, tier, status, stream, query, body, reply } = access;
  const row = operations[route];
  if (!row) throw new Error(`scripts/http-operations.mjs has no row for ${route}`);
  const [operationId, summary, ...codes] = row;
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: "path", required: true, schema: TEXT })),
    ...queryParameters(query, schemas),
  ].map(withExample);
  parameters.push(
    ...headersOf(route, stream).map(requestHeader),
    ...EVERY_REQUEST.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  );
  return {
    operationId,
    summary,
    tags: [tagOf(path)],
    ...(tier === "open" && { security: [] }),
    parameters,
    ...(body && { requestBody: { content: { "application/json": bodyOf(route, body, schemas) } } }),
    responses: {
      ...success({ route, status, stream, reply }, schemas),
      ...failures([...codes, ...impliedCodes(access)], route),
      default: { $ref: "#/components/responses/Failure" },
    },
    ...((stream || route === "POST /runs") && { "x-sse": streamOf(route) }),
  };
}

function success({ route, status, stream, reply }, schemas) {
  const answer = (description, more) => ({ description, headers: HEADERS, ...more });
  const text = (type, example) => ({ content: { [type]: { schema: TEXT, example } } });
  if (stream) return { [status]: answer("An event stream", text("text/event-stream", streamExample(route, schemas))) };
  if (route.endsWith("/transcript")) {
    const examples = Object.entries(transcriptExamples(schemas)).map(([type, example]) => [type, { example }]);
    return { [status]: answer("The transcript", { content: Object.fromEntries(examples) }) };
  }
  if (route === "GET /metrics") return { [status]: answer("Metrics", text("text/plain", METRICS)) };
  const object = (example) => ({ content: { "application/json": { schema: { type: "object" }, example } } });
  const connected = (example) => ({ ...object(example), headers: { ...HEADERS, ...answered("Acp-Connection-Id") } });
  if (route === "POST /runs") {
    const events = text("text/event-stream", streamExample(route, schemas)).content;
    const run = { "application/json": content(reply, schemas) };
    return {
      200: answer("The run has ended, or with `mode: stream` its events", { content: { ...run, ...events } }),
      202: answer("With `mode: async`: the run has begun", { content: run }),
    };
  }
  if (route === "GET /openapi.json") return { [status]: answer("Success", object(DESCRIPTION)) };
  if (route === "POST /acp")
    return { 200: answer("Answer to initialize", connected(acpInitialized)), ...accepted(answer) };
  if (route === "DELETE /acp") return accepted(answer);
  const json = reply && { content: { "application/json": content(reply, schemas) } };
  if (status === 204 && reply) return { 204: answer("Done"), 200: answer("Done, or what would be done", json) };
  if (status === 204) return { 204: answer("Done") };
  return { [status]: answer("Success", json) };
}

/** Nothing is in it. */
function accepted(answer) {
  return {
    202: answer("Accepted, without a body", { content: { "application/json": { schema: { type: "object" } } } }),
  };
}

function headersOf(route, stream) {
  return [
    ...(stream ? ["Last-Event-ID"] : []),
    ...(KEYED.test(route) ? ["Idempotency-Key"] : []),
    ...(route.endsWith(" /acp") ? ["Acp-Connection-Id", "Acp-Session-Id"] : []),
  ];
}

function bodyOf(route, body, schemas) {
  return route === "POST /acp" ? { schema: body, example: acpInitialize } : content(body, schemas);
}

/** Describes the frames of a stream in an extension, because OpenAPI 3.1 cannot. */
function streamOf(route) {
  if (route === "GET /acp") return { id: "seq", data: { type: "object", description: "A JSON-RPC message of ACP" } };
  const record = ref("SessionRecordSchema");
  if (route === "POST /runs") return { data: ref("RunEvent") };
  const events = (table, ...names) => Object.fromEntries(names.map((name) => [name, ref(`${table}.${name}`)]));
  if (route === "GET /events") return { events: events("many", "record", "row") };
  if (route.startsWith("GET /session/"))
    return {
      id: "seq",
      events: events("stream", "user_message", "loop_event", "permission_request", "error", "result"),
    };
  return {
    id: "seq",
    data: record,
    events: { end: ref("EndData"), notice: ref("Loss") },
  };
}

function failures(codes, route) {
  const statuses = Object.entries(ERRORS).flatMap(([status, known]) => {
    const own = [...new Set(codes)].filter((code) => known.includes(code));
    return own.length > 0 ? [[status, failure(own.join(", "), own, FAILURE_HEADERS[status] ?? [])]] : [];
  });
  const found = Object.fromEntries(statuses);
  if (route === "POST /acp")
    found[400].content["application/json"].schema = { anyOf: [ref("ErrorReply"), RPC_FAILURE] };
  if (route === "GET /readyz")
    found[503].content["application/json"].schema = { allOf: [ref("ErrorReply"), ref("ReadyReply")] };
  return found;
}

/** The error codes of a status for this route. The reply has the same shape everywhere. */
function failure(description, codes, names) {
  const content = { "application/json": { schema: ref("ErrorReply") } };
  return { description, ...(names.length > 0 && { headers: answered(...names) }), "x-codes": [...codes], content };
}

function requestHeader(name) {
  return withExample({ name, in: "header", required: false, schema: TEXT });
}

/** Adds what an answer says of names that its route does not know. */
function warn(schema) {
  for (const one of schema.oneOf ?? schema.anyOf ?? [schema]) one.properties.warnings = WARNINGS;
}

function areaOf(name) {
  if (!areas[name]) throw new Error(`scripts/http-operations.mjs has no area ${name}`);
  return areas[name];
}

function content(schema, schemas) {
  return { schema, example: exampleOf(schema, schemas) };
}

function queryParameters(query, schemas) {
  const schema = query && schemas[nameOf(query.$ref)];
  return Object.entries(schema?.properties ?? {}).map(([name, value]) => ({
    name,
    in: "query",
    required: schema.required?.includes(name) ?? false,
    description: value.description,
    schema: { ...value, description: undefined },
  }));
}

function tagOf(path) {
  return path.split("/")[1].replace(/\.json$/, "");
}

/** The schemas that the document uses, directly or through other schemas. */
function used(from, schemas) {
  const found = new Set();
  const look = (node) => {
    for (const [, name] of JSON.stringify(node).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (found.has(name)) continue;
      if (!schemas[name]) throw new Error(`there is no schema ${name}`);
      found.add(name);
      look(schemas[name]);
    }
  };
  look(from);
  return Object.fromEntries([...found].sort().map((name) => [name, schemas[name]]));
}

function schemasOf({ $defs }) {
  return JSON.parse(toComponents($defs));
}

function toComponents(node) {
  return JSON.stringify(node).replaceAll('"#/$defs/', '"#/components/schemas/');
}

function nameOf(reference) {
  return reference.split("/").at(-1);
}
