// Makes the OpenAPI 3.1 document from the table of routes, the schemas and the operations. The server fills in its title and version.
import { ERRORS } from "../dist/http/errors.js";
import { exampleOf } from "./example.mjs";
import {
  acpInitialize,
  acpInitialized,
  METRICS,
  streamExample,
  transcriptExamples,
  withExample,
} from "./http-examples.mjs";
import { operations } from "./http-operations.mjs";

const TEXT = { type: "string" };
const ANYWHERE = [
  "unauthorized",
  "admin_only",
  "bad_host",
  "bad_origin",
  "too_many_refusals",
  "internal_error",
  "session_closed",
  "draining",
];
/** The beginning of the document itself. */
const DESCRIPTION = { openapi: "3.1.0", info: { title: "otter", version: "1.0.0" }, paths: {} };
const KEYED = /^POST .*\/(sessions?|runs|turns|message|fork|invoke)$/;

/** @param http, events the JSON Schema files @param version the version of the package */
export function describeApi({ http, events, version }) {
  const all = { ...schemasOf(events), ...schemasOf(http) };
  all.ErrorReply.properties.error = { type: "string", enum: Object.values(ERRORS).flat() };
  const paths = {};
  for (const row of JSON.parse(toComponents(http["x-routes"]))) {
    const [method, path] = row.route.split(" ");
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(row, path, all) };
  }
  const responses = { Failure: failure("Any other failure", Object.values(ERRORS).flat()) };
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
    tags: [...new Set(Object.keys(paths).map(tagOf))].map((name) => ({ name, description: `/${name}` })),
    paths,
    components: {
      schemas: used({ paths, responses }, all),
      responses,
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    },
  };
  return document;
}

function operation({ route, tier, status, stream, query, body, reply }, path, schemas) {
  const row = operations[route];
  if (!row) throw new Error(`scripts/http-operations.mjs has no row for ${route}`);
  const [operationId, summary, ...codes] = row;
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: "path", required: true, schema: TEXT })),
    ...queryParameters(query, schemas),
    ...headersOf(route, stream).map((name) => ({ name, in: "header", required: false, schema: TEXT })),
  ].map(withExample);
  return {
    operationId,
    summary,
    tags: [tagOf(path)],
    ...(tier === "open" && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { content: { "application/json": bodyOf(route, body, schemas) } } }),
    responses: {
      ...success({ route, status, stream, reply }, schemas),
      ...failures(tier === "open" ? [] : [...codes, ...ANYWHERE]),
      default: { $ref: "#/components/responses/Failure" },
    },
    ...(stream && { "x-sse": streamOf(route) }),
  };
}

function success({ route, status, stream, reply }, schemas) {
  const headers = { "X-Request-Id": { description: "Finds the request in the server's log", schema: TEXT } };
  const answer = (description, more) => ({ description, headers, ...more });
  const text = (type, example) => ({ content: { [type]: { schema: TEXT, example } } });
  if (stream) return { [status]: answer("An event stream", text("text/event-stream", streamExample(route, schemas))) };
  if (route.endsWith("/transcript")) {
    const examples = Object.entries(transcriptExamples(schemas)).map(([type, example]) => [type, { example }]);
    return { [status]: answer("The transcript", { content: Object.fromEntries(examples) }) };
  }
  if (route === "GET /metrics") return { [status]: answer("Metrics", text("text/plain", METRICS)) };
  const object = (example) => ({ content: { "application/json": { schema: { type: "object" }, example } } });
  if (route === "GET /openapi.json") return { [status]: answer("Success", object(DESCRIPTION)) };
  if (route === "POST /acp")
    return { 200: answer("Answer to initialize", object(acpInitialized)), ...accepted(answer) };
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
  const record = { $ref: "#/components/schemas/SessionRecordSchema" };
  const events = (table, ...names) =>
    Object.fromEntries(names.map((name) => [name, { $ref: `#/components/schemas/${table}.${name}` }]));
  if (route === "GET /events") return { events: events("many", "record", "row") };
  if (route.startsWith("GET /session/"))
    return {
      id: "seq",
      events: events("stream", "user_message", "loop_event", "permission_request", "error", "result"),
    };
  return {
    id: "seq",
    data: record,
    events: { end: { $ref: "#/components/schemas/EndData" }, notice: { $ref: "#/components/schemas/Loss" } },
  };
}

function failures(codes) {
  const statuses = Object.entries(ERRORS).flatMap(([status, known]) => {
    const own = [...new Set(codes)].filter((code) => known.includes(code));
    return own.length > 0 ? [[status, failure(own.join(", "), own)]] : [];
  });
  return Object.fromEntries(statuses);
}

/** The error codes of a status for this route. The reply has the same shape everywhere. */
function failure(description, codes) {
  const schema = { $ref: "#/components/schemas/ErrorReply" };
  return { description, "x-codes": [...codes], content: { "application/json": { schema } } };
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
    schema: value,
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
