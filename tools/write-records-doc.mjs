#!/usr/bin/env node
// Writes docs/records.md from the schemas of records, the comments beside them and the table of updates for editors. With --check it
// fails if the page differs from the one it would write. Needs a build.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exampleOf } from "../packages/acp-schema/scripts/example.mjs";
import { anchor, fieldsOf, fieldTable, typeText } from "../packages/acp-schema/scripts/type-text.mjs";
import { repositoryRoot } from "../scripts/gate.mjs";

const read = (path) => readFileSync(join(repositoryRoot, path), "utf8");
const page = join(repositoryRoot, "docs", "records.md");
const schemas = JSON.parse(read("packages/acp-schema/schema/events.json")).$defs;
const comments = commentsIn(
  read("packages/acp-schema/src/events/metadata.ts"),
  read("packages/acp-schema/src/events/value.ts"),
);
const shown = updatesIn(
  ["frames.ts", "running-calls.ts"].map((name) => read(`packages/acp-server/src/standard/${name}`)).join("\n"),
);
const types = schemas.SessionRecordSchema.oneOf.map(({ properties }) => properties.type.const);
const shapes = Object.keys(schemas).filter((name) => /^[A-Z]/.test(name) && name !== "SessionRecordSchema");
/** The records that the session writes itself. An agent must not yield them, because it cannot know their content. */
const OWN = new Set(
  "user_message turn_start permission_request permission_resolved mode_changed model_changed approval_changed config_changed settings_reset torn_down agent_session cleared forked undo redo".split(
    " ",
  ),
);
/** The names of the older stream. It sends every other record as `loop_event`. */
const OLDER = {
  user_message: "user_message",
  permission_request: "permission_request",
  error: "error",
  agent_result: "result",
  cancelled: "result",
};

const text = `${introduction()}\n${types.map(section).join("\n")}\n## Shapes\n\n${shapes.map(shape).join("\n")}`;
if (!process.argv.includes("--check")) writeFileSync(page, text);
else if (readFileSync(page, "utf8") !== text) {
  console.error("docs/records.md is out of date: build, then run `node tools/write-records-doc.mjs`");
  process.exitCode = 1;
}

// --- internal ---

function introduction() {
  const [first] = schemas.SessionRecordSchema.oneOf;
  const envelope = {
    ...first,
    properties: { ...first.properties, type: { type: "string" }, metadata: { type: "object" } },
  };
  const notes = {
    seq: "the number of the record, counted from 1 without gaps; also the id of an event in a stream",
    id: "`evt-` and a checksum of the record",
    type: "one of the types below; readers ignore unknown types",
    turn: "the number of its turn, counted from 0; null outside a turn",
    origin: "the client that caused it, if that was not the session's own client",
    metadata: "the fields of the type",
    ts: "the time when it was written; never earlier than that of the record before",
  };
  return `# Records

Everything that happens in a session is a record of its log. \`tools/write-records-doc.mjs\` generates this page from the schemas
of records. It uses the words of the [glossary](glossary.md); the order of records is described in [a session's log](session-log.md).

## A record

${fieldTable(envelope, schemas, linkTo, notes)}

\`GET /sessions/{id}/events\` and \`GET /events\` send every record unchanged. \`GET /session/{id}/events\` uses the older names that are
given below, and \`loop_event\` for other records. An editor gets an ACP \`session/update\` of the given kind, or nothing. The native
dialects notify of a set of records that is fixed with their version.

## For authors of agents

An agent yields \`{ type, metadata }\`; the session adds the other fields. \`metadata\` needs every field without a \`?\`. Yield the events
of your turn, but not the records that the session writes itself (marked below). \`text_delta\` alone is enough: if an agent does not
yield the end of its turn, the session adds \`turn_end\` and the last record. The types are \`AgentEvent\` and \`Metadata\` of
\`@chimera/acp-schema/events\`; \`@chimera/acp-schema/agent\` exports \`AgentEvent\` too, with \`Agent\`.

| type | fields that an agent must give |
|---|---|
${types
  .filter((type) => !OWN.has(type))
  .map((type) => `| [\`${type}\`](${anchor(type)}) | ${needed(type)} |`)
  .join("\n")}

## Types
`;
}

function needed(type) {
  const names = fieldsOf(schemas[type]).filter(({ isRequired }) => isRequired);
  return names.map(({ name }) => `\`${name}\``).join(", ") || "none";
}

function section(type) {
  const { about = "", fields = {} } = comments[type] ?? {};
  const metadata = exampleOf(schemas[type], schemas);
  const example = { type, metadata: metadata.prompt ? { ...metadata, prompt: "msg-0" } : metadata };
  const ways = [
    `Editors: ${type === "permission_request" ? "`session/request_permission`" : (shown[type]?.map((kind) => `\`${kind}\``).join(" or ") ?? "nothing")}.`,
    ...(OLDER[type] ? [`Older stream: \`${OLDER[type]}\`.`] : []),
    ...(OWN.has(type) ? ["The session writes it."] : []),
  ];
  const table =
    fieldsOf(schemas[type]).length === 0 ? "It has no metadata." : fieldTable(schemas[type], schemas, linkTo, fields);
  return [
    `### ${type}\n`,
    about,
    "",
    table,
    "",
    ways.join(" "),
    "",
    "```json",
    JSON.stringify(example),
    "```",
    "",
  ].join("\n");
}

function shape(name) {
  const node = schemas[name];
  const body = node.properties ? fieldTable(node, schemas, linkTo) : `${typeText(node, schemas, linkTo)}.`;
  return `### ${name}\n\n${body}\n`;
}

function linkTo(name) {
  return schemas[name] && name !== "SessionRecordSchema" ? anchor(name) : null;
}

/** The comments of each record type and its fields. Some schemas are in the file of values, by name. */
function commentsIn(source, values) {
  const table = source.slice(source.indexOf("export const metadata = {"));
  const found = {};
  let type = null;
  for (const [indent, name, about, schema] of commented(table)) {
    if (indent === 2) {
      type = name;
      const named = schema && values.slice(values.indexOf(`export const ${schema} = `)).split("\n});", 1)[0];
      const fields = [...commented(named ?? "")].flatMap(([, field, said]) => (said ? [[field, said]] : []));
      found[type] = { ...(about && { about }), fields: Object.fromEntries(fields) };
    } else if (about && type) found[type].fields[name] = about;
  }
  return found;
}

/** The indentation, name and comment of each field, and the name of its schema if the field is only a name. */
function* commented(source) {
  const rows = source.matchAll(/(?:\/\*\*([\s\S]*?)\*\/\n)?^( {2}| {4})(\w+): (?:([A-Z]\w*),$)?/gm);
  for (const [, comment, indent, name, schema] of rows)
    yield [indent.length, name, comment?.replaceAll(/\s*\n\s*\*? ?/g, " ").trim(), schema];
}

/** The kinds of update that an editor gets for each record type. */
function updatesIn(source) {
  const start = source.indexOf("const projectors");
  const table = source.slice(start, source.indexOf("\n};", start));
  const rows = table.split(/\n {2}(?=\w+: \()/).slice(1);
  const kinds = (code) => [...code.matchAll(/"(\w+_chunk|\w+_update|tool_call|plan|notice)"/g)].map(([, kind]) => kind);
  /** The code of a row with that of the functions it calls. */
  const whole = (row) =>
    [...row.matchAll(/\b(\w+)\(/g)].reduce((code, [, name]) => {
      const at = source.indexOf(`function ${name}(`);
      return at < 0 ? code : code + source.slice(at, source.indexOf("\n}", at));
    }, row);
  return Object.fromEntries(rows.map((row) => [row.slice(0, row.indexOf(":")), [...new Set(kinds(whole(row)))]]));
}
