#!/usr/bin/env node
// Writes docs/records.md from the schemas of records, the comments beside them and the table of what an editor is shown; with --check
// it fails when the page is not what it would write. Needs a build.
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
/** What the session writes itself; an agent that yields one of these says something that it cannot know. */
const OWN = new Set(
  "user_message turn_start permission_request permission_resolved mode_changed model_changed approval_changed config_changed settings_reset torn_down agent_session cleared forked undo redo".split(
    " ",
  ),
);
/** What the older stream has a name for; it carries every other record as `loop_event`. */
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
    seq: "counts from 1 without gaps, and is the id of an event in a stream",
    id: "`evt-` and a checksum of the record",
    type: "one of the types below; readers pass over one that they do not know",
    turn: "the turn it belongs to, counted from 0; null for what belongs to none",
    origin: "the client that caused it, where that was not the one the session belongs to",
    metadata: "what the type says",
    ts: "when it was written; never earlier than the one before",
  };
  return `# Records

Everything that happens in a session is a record of its log. This page is generated from the schemas that describe them, by
\`tools/write-records-doc.mjs\`. The words are those of the [glossary](glossary.md); which records follow each other is in
[a session's log](session-log.md).

## A record

${fieldTable(envelope, schemas, linkTo, notes)}

\`GET /sessions/{id}/events\` and \`GET /events\` carry every record as it is. \`GET /session/{id}/events\` has the older names that are given
below, and \`loop_event\` for the rest. An editor gets an ACP \`session/update\` of the kind that is given, or nothing. The native dialects notify of a
set that is frozen with their version.

## For authors of agents

An agent yields \`{ type, metadata }\`; the session adds the rest. \`metadata\` has every field without a \`?\`. Yield what happens in
your turn, and leave to the session what it writes itself (it says so below). Nothing more is needed than \`text_delta\`: a turn that says
nothing of its end gets \`turn_end\` and a last record from the session. The types are \`AgentEvent\` and \`Metadata\` of
\`@chimera/acp-schema/events\`, and \`AgentEvent\` also comes with \`Agent\` from \`@chimera/acp-schema/agent\`.

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
    fieldsOf(schemas[type]).length === 0 ? "It carries nothing." : fieldTable(schemas[type], schemas, linkTo, fields);
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

/** Record type -> what the comments beside its schema and its fields say. Some schemas stand among the values, by name. */
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

/** Indentation, name, comment and, where that is all of it, the schema's name of each field. */
function* commented(source) {
  const rows = source.matchAll(/(?:\/\*\*([\s\S]*?)\*\/\n)?^( {2}| {4})(\w+): (?:([A-Z]\w*),$)?/gm);
  for (const [, comment, indent, name, schema] of rows)
    yield [indent.length, name, comment?.replaceAll(/\s*\n\s*\*? ?/g, " ").trim(), schema];
}

/** Record type -> the kinds of update that an editor is sent of it. */
function updatesIn(source) {
  const start = source.indexOf("const projectors");
  const table = source.slice(start, source.indexOf("\n};", start));
  const rows = table.split(/\n {2}(?=\w+: \()/).slice(1);
  const kinds = (code) => [...code.matchAll(/"(\w+_chunk|\w+_update|tool_call|plan|notice)"/g)].map(([, kind]) => kind);
  /** A row, and the functions of these files that it calls. */
  const whole = (row) =>
    [...row.matchAll(/\b(\w+)\(/g)].reduce((code, [, name]) => {
      const at = source.indexOf(`function ${name}(`);
      return at < 0 ? code : code + source.slice(at, source.indexOf("\n}", at));
    }, row);
  return Object.fromEntries(rows.map((row) => [row.slice(0, row.indexOf(":")), [...new Set(kinds(whole(row)))]]));
}
