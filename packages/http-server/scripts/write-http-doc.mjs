// Writes docs/http.md from the schemas and the routes; with --check it fails when the page is not what it would write.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ERRORS } from "../../acp-schema/dist/http/errors.js";
import { routes } from "../../acp-schema/dist/http/routes.js";
import { impliedCodes, loaded, operations } from "../../acp-schema/scripts/http-operations.mjs";
import { anchor, fieldTable, shapeText, typeText } from "../../acp-schema/scripts/type-text.mjs";
import { LIMITS } from "../dist/index.js";

const page = fileURLToPath(new URL("../../../docs/http.md", import.meta.url));
const read = (name) =>
  JSON.parse(readFileSync(new URL(`../../acp-schema/schema/${name}.json`, import.meta.url), "utf8"));
const { "x-routes": rows, $defs } = read("http");
const { paths, components } = read("openapi");
const schemas = { ...$defs, ...components.schemas };
/** Codes that most routes may answer with, so that they are listed once. */
const usual = new Set(impliedCodes({ route: "POST /", tier: "session", query: {}, body: {} }));

const groups = [
  [
    "Server",
    (path) => /^\/(health|healthz|ping|readyz|info|providers|models|engines|tools|openapi\.json|metrics)$/.test(path),
  ],
  ["The page", (path) => /^\/(page|me$)/.test(path)],
  ["Sessions", (path) => /^\/(sessions|events|search)/.test(path)],
  ["Sessions, the older shapes", (path) => /^\/(session|tool)(\/|$)/.test(path)],
  ["ACP", (path) => path === "/acp"],
  ["Custom commands", (path) => /^\/commands/.test(path)],
  ["Past runs", (path, method) => /^\/runs(\/cost)?$/.test(path) && method === "GET"],
  ["The run API", (path) => /^\/(runs|agents)/.test(path)],
];

const tiers = {
  open: "anybody",
  person: "master, a person, or a page that signed in",
  session: "master, a person who may see the session, or the session's token",
  admin: "master, or a person who may change the session; the session's own token gets 403 `admin_only`",
  master: "master, or a person with the role admin; others get 403 `admin_only`",
  any: "master, a person, or the token of any session, for that session alone",
};

const text = `${introduction()}\n${groups.map(section).join("\n")}\n${rest()}\n${shapes()}`;
if (process.argv.includes("--check")) {
  if (readFileSync(page, "utf8") !== text) {
    console.error("docs/http.md is out of date: run `node packages/http-server/scripts/write-http-doc.mjs`");
    process.exit(1);
  }
} else writeFileSync(page, text);

// --- internal ---

function introduction() {
  return `# HTTP

This page is generated from the schemas that validate requests, by \`packages/http-server/scripts/write-http-doc.mjs\`. A server
describes itself in the same way at \`GET /openapi.json\`. [Records](records.md) describes the content of streams.

Bodies are JSON objects, of at most ${LIMITS.bodyBytes / 1024 / 1024} MiB and ${LIMITS.bodyValues.toLocaleString("en-US")} values; a POST with a body says
\`Content-Type: application/json\`. A field with \`?\` may be left out, or be null; no body at all reads as \`{}\`. Times are UTC, as text
in ISO 8601; fields with seconds since 1970 (\`created_at\`, \`last_touched\`, \`timestamp\`) stand beside them (\`created\`, \`updated\`, \`ts\`).

A route ignores unknown names in the query and in the body, and lists them in \`warnings\` of the answer, or in the header
\`X-Warnings\` if the answer is not JSON (the first ${LIMITS.notedNames}, and the number of the others). A route without a body treats every field of a body as unknown. With \`Prefer: handling=strict\` an unknown name is 400 \`unknown_field\`. Every answer has an \`X-Request-Id\`: the
caller's own, or a new one. A long JSON answer to a GET is compressed for a caller that accepts gzip.

\`Idempotency-Key\` (at most ${LIMITS.keyChars} visible characters) makes it safe to send a request again whose answer was lost. \`POST /sessions\`, \`/session\`, \`/sessions/{id}/fork\` and
\`/runs\` answer the same key with the same session; \`/sessions/{id}/turns\`, \`/session/{id}/message\` and \`/commands/{name}/invoke\` with the same turn. The key is in the log, so a restart
changes nothing, and every node finds it. A session remembers the keys of its last 100 prompts, and the server those of the sessions of the last day. The answer of a repeated request has a new
session token. After a session was deleted, its key may make a new one. A different request with the same key is 422 \`key_reused\`. If several nodes get the same key at the same
moment, they make one session: the database decides which of them makes it.

If a list has more rows, the answer has \`next\`; \`?limit=50&after=<next>\` is the next page.

## Who may call

A caller sends \`Authorization: Bearer <token>\`; cookies and the query are not read. The master token comes from \`--auth-token-file\`,
\`<NAME>_SERVER_TOKEN\` or \`--auth-token\`. Without one the server binds loopback only. On Linux, which tells users apart, it is then open only to
its own user, and on other systems to everybody on this machine. \`--auth-token auto\` makes a token in a file that
\`attach\` and similar commands find, and that curl can read: \`-H "Authorization: Bearer $(cat FILE)"\`. A session's token is made with the session, is kept in memory only, and opens the routes of this session.

People have tokens of their own: \`token add <name> --role <role>\`. A \`viewer\` reads every session. A \`user\` makes sessions, and sees these and shared ones (\`PATCH /sessions/{id}\` with
\`shared\`). An \`admin\` has the rights of the master. A session that a person may not see is 404, and changing one that they may only read is 403 \`read_only\`. A person's name is the \`owner\` of their sessions and the
\`origin\` of their records. \`token revoke <name>\` closes everything that was opened with the token, on every node. A proxy may name people in a header: \`--trust-proxy\`, \`--user-header\`, \`--proxy-secret-file\`.

The page at \`/\` is served to everybody, because its files contain no data. If a token is set, \`serve\` prints the page's address with a code in the fragment, which a browser does not send. The page
exchanges the code for a token of its own with \`POST /page/tokens\`. This token opens every route except those of the master. It ends after ${LIMITS.pageIdleMs / 3_600_000} hours without a request or when it is revoked; then
its open streams and the session tokens that it was given end too. A code works once, within ${LIMITS.pageCodeMs / 60_000} minutes; \`POST /page/codes\` makes further ones.

With or without a token, the server checks two headers. Host must be loopback, the bound address or an \`--allow-host\` (403 \`bad_host\`). Origin
must be one of \`--cors\`, or the scheme and the Host of the request itself, as for the page. A request that a browser sends for a part of another site's page is refused (403 \`bad_origin\`). An unknown path is 401 without a valid token and 404 with the master's. After
${LIMITS.refusalBurst} refusals an address gets ${LIMITS.refusalsPerSecond} refusals a second, and 429 if too many requests wait.
`;
}

function section(group) {
  const own = rows.filter(({ route }) => groupOf(route) === group);
  return `## ${group[0]}\n\n${own.map(describe).join("\n")}`;
}

/** The first group that a route belongs to. */
function groupOf(route) {
  const [method, path] = route.split(" ");
  const group = groups.find(([, belongs]) => belongs(path, method));
  if (!group) {
    const script = "packages/http-server/scripts/write-http-doc.mjs";
    throw new Error(`${route} is in no section: add its path to \`groups\` of ${script}`);
  }
  return group;
}

function describe({ route, query, body, stream }) {
  const [method, path] = route.split(" ");
  const { responses, "x-sse": sse } = paths[path][method.toLowerCase()];
  const answers = Object.entries(responses).filter(([, answer]) => !answer["x-codes"] && !answer.$ref);
  const codes = Object.values(responses).flatMap((answer) => answer["x-codes"] ?? []);
  const isLoading = loaded.every((code) => codes.includes(code));
  const own = codes.filter((code) => !usual.has(code) && !(isLoading && loaded.includes(code)));
  const failures = own.map((code) => `\`${code}\``);
  if (isLoading) failures.push("those of [loading a session](#errors)");
  const lines = [
    `### \`${route}\`\n`,
    `${operations[route][1]}.\n`,
    `- For: ${tiers[routes[route].tier]}.`,
    ...(query ? [`- Query: ${shapeOf(query)}.`] : []),
    ...(body ? [`- Body: ${shapeOf(body)}.`] : []),
    `- Answer: ${answers.map(([status, answer]) => `${status}${contentOf(answer, stream)}`).join("; ")}.`,
    ...(sse?.events ? [`- Events: ${eventsOf(sse)}.`] : []),
    ...(failures.length > 0 ? [`- Failures: ${failures.join(", ")}.`] : []),
  ];
  return `${lines.join("\n")}\n`;
}

function contentOf({ content = {} }) {
  const kinds = Object.entries(content).map(([type, { schema }]) => {
    if (type === "text/event-stream") return "an event stream";
    return schema?.$ref ? shapeOf(schema) : type.startsWith("text/") ? `\`${type}\`` : "";
  });
  const shown = kinds.filter(Boolean).join(" or ");
  return shown.startsWith("an ") ? ` and ${shown}` : shown ? ` ${shown}` : "";
}

function eventsOf({ data, events }) {
  const named = Object.entries(events).map(([name, shape]) => `\`${name}\` ${shapeOf(shape)}`);
  return [...(data ? ["each type of [record](records.md#types)"] : []), ...named].join(", ");
}

function shapeOf(node) {
  return typeText(node, schemas, linkTo);
}

function linkTo(name) {
  return name === "SessionRecordSchema" ? "records.md#a-record" : anchor(name);
}

/** Every shape that a route names, and what those name in turn. */
function shapes() {
  const named = new Set();
  const visit = (node) => {
    if (typeof node !== "object" || node === null) return;
    const name = node.$ref?.split("/").at(-1);
    if (name !== undefined && name !== "SessionRecordSchema" && !named.has(name)) {
      named.add(name);
      visit(schemas[name]);
    }
    Object.values(node).forEach(visit);
  };
  visit(rows);
  visit(Object.values(paths).flatMap((methods) => Object.values(methods).map((one) => one["x-sse"]?.events ?? {})));
  visit(paths["/runs"].post["x-sse"]);
  const sections = [...named].sort().map((name) => {
    const node = withoutWarnings(schemas[name]);
    const about = node.description ? `${node.description}\n\n` : "";
    return `### ${name}\n\n${about}${shapeText(node, schemas, linkTo)}\n`;
  });
  return `## Shapes\n\nA field with \`?\` may be left out.\n\n${sections.join("\n")}`;
}

function quoted(codes) {
  return [...codes].map((code) => `\`${code}\``).join(", ");
}

/** Every answer may have them. */
function withoutWarnings(node) {
  const { warnings: _, ...properties } = node.properties ?? {};
  const options = node.oneOf ?? node.anyOf;
  return {
    ...node,
    ...(node.properties && { properties }),
    ...(options && { [node.oneOf ? "oneOf" : "anyOf"]: options.map(withoutWarnings) }),
  };
}

function rest() {
  const { enum: _, ...code } = schemas.ErrorReply.properties.error;
  return `## Event streams

Each event has \`id\`, \`event\` and one line of \`data\`. \`id\` is the record's number: it counts from 1 without gaps in each session, and is the same in both
families, after a reconnect and after a restart. A stream replays the records after \`Last-Event-ID\` (absent, blank, negative or not a
whole number: everything; past the end: nothing), then continues live. \`?from=live\` replays nothing. \`?turn=3\` without
\`Last-Event-ID\` replays from the prompt of that turn (numbered from 0), or everything if there is no such turn yet. A comment comes every
${LIMITS.keepAliveMs / 1000} s. A peer that takes nothing for ${LIMITS.stallMs / 1000} s is dropped, and can resume with its cursor.
In place of records that are damaged on disk, a stream has one notice of the level \`error\` without an id, with their numbers in \`missing: {first, last}\`:
\`event: notice\`, or a \`loop_event\` of that type. \`GET /sessions/{id}\` and a JSON transcript have it among their events, and a run's events have it as \`generic\`. If a stream
waits for a record that is lost, it ends as if the record had come.

- \`/sessions/{id}/events\`: records as they are in the log, with their type as \`event\`. After the last record of a turn, if
  no turn runs or waits: \`event: end\` with \`{session_id, success}\`, without an id, and the stream closes. A stream that begins at the end of the log of
  an idle session waits for the next turn.
- \`/session/{id}/events\`: \`user_message\`, \`permission_request\`, \`error\`, \`result\`, and \`loop_event\` for every other record.
  It stays open until the session is torn down, evicted, or its token is rotated.
- \`/events?session=a&session=b:42\`: up to ${LIMITS.streamedSessions} sessions in one stream, each from the number after its colon. \`event: record\` with \`{session_id, record}\`; the id, with the
  last record of a batch, has the cursor of every session (\`a:17,b:44\`), and as \`Last-Event-ID\` resumes them all: skip records that you have already. With \`list=true\` also
  \`event: row\` with \`{session_id, row}\` for each change of the list: \`row\` is one of \`GET /sessions\`, or null if the session is gone, or you may not see it any more. Changes by another process come within about ${LIMITS.listLookMs / 1000} s. A slow peer gets a row that changed often once, in its newest form.
- \`?until=turn\` ends a session's stream after the last record of a turn, \`?until=never\` keeps it open when no turn runs, \`?until=end\` is the default of \`/sessions/{id}/events\`.
- \`POST /runs\` with \`mode: "stream"\`: lines of \`data\` only, each a [RunEvent](#runevent).

## ACP

\`/acp\` is the remote transport of the Agent Client Protocol, for every dialect that the program speaks on stdio. \`POST\` \`initialize\` answers with \`Acp-Connection-Id\`, which
every later request must have; a message about a session also needs \`Acp-Session-Id\`. Messages are answered 202, and replies and updates come on event streams: \`GET\` with
both headers for a session, without \`Acp-Session-Id\` for everything else. A WebSocket can carry all of it, with one message per text frame. A browser, which cannot send a header, sends
the token as \`Sec-WebSocket-Protocol: acp.v1, bearer.<token in base64url>\`.

- \`id:\` is the number of the frame's record. With \`Last-Event-ID\` a stream repeats everything after it: updates, the answer to the prompt, and unanswered questions. It works
  also over another connection and after a restart of the server.
- A connection stays open ${LIMITS.acpGraceMs / 1000} s without a stream. \`DELETE\` ends it. Turns continue in both cases.
- \`Idempotency-Key\` on a \`POST\`: the message is handled once, however often it is sent. A prompt with a key runs once over all connections, and every sender gets its answer.
- A session's token reaches only that session, and can only make its settings stricter. Other methods get a JSON-RPC error.

## Errors

${fieldTable({ ...schemas.ErrorReply, properties: { ...schemas.ErrorReply.properties, error: code } }, schemas, linkTo)}

The routes list their own codes. Every route with a token, a query or a body may also answer with these: ${quoted(usual)}.
Every route that loads a session may also answer with ${quoted(loaded)}.

| status | codes |
|---|---|
${Object.entries(ERRORS).map(errorRow).join("\n")}
`;
}

/** The codes of a status, with a note where the code alone is not clear. */
function errorRow([status, codes]) {
  const notes = {
    bad_request: "the target or the Host makes no URL, or a step of the path is dots",
    command_invoke_failed: status === "400" ? "too many arguments, or too long a prompt" : "it could not be rendered",
    connection_missing: "of `/acp`",
    already_initialized: "of `/acp`",
    session_mismatch: "of `/acp`",
    bad_upgrade: "of `/acp`",
    budget_spent: "the day's dollars, see [operating](operate.md)",
    forbidden_directory: "see `--workspace-root`",
    read_only: "the caller may only read",
    connection_not_found: "initialize again",
    method_not_allowed: "with `Allow`",
    session_claimed: "another process has it: `holder: {program, pid, host, since}`",
    session_elsewhere: "no server runs where its files are",
    not_as_shown: "the answer is for something else than what is asked",
    key_reused: "another prompt was sent with this `Idempotency-Key`",
    outcome_unknown: "the node that had the session died while it did this: look at the session before asking again",
    session_closed: "it was just leaving memory",
    storage_failed: "the disk failed, or the database does not answer",
    too_many_streams: "event streams have a bound of their own, so that other requests find room",
    too_many_connections: "of ACP",
  };
  const named = codes.map((code) => `\`${code}\`${notes[code] ? ` (${notes[code]})` : ""}`);
  return `| ${status} | ${named.join(", ")}${status === "503" ? "; all with `Retry-After`" : ""} |`;
}
