#!/usr/bin/env node
// Writes docs/records.md from the schemas of records, which have the comments of the source as descriptions, and the tables of what
// clients are shown. With --check it fails if the page differs from the one it would write, and always if a field has no description.
// Needs a build.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exampleOf } from "../packages/acp-schema/scripts/example.mjs";
import { anchor, fieldsOf, fieldTable, shapeText } from "../packages/acp-schema/scripts/type-text.mjs";
import { repositoryRoot } from "../scripts/gate.mjs";

const read = (path) => readFileSync(join(repositoryRoot, path), "utf8");
const page = join(repositoryRoot, "docs", "records.md");
const schemas = JSON.parse(read("packages/acp-schema/schema/events.json")).$defs;
const acp = (path) => read(`packages/acp-server/src/${path}`);
const editors = shownToEditors(
  `${acp("standard/frames.ts")}\n${acp("standard/running-calls.ts")}`,
  acp("standard/view.ts"),
);
const native = {
  otter: kindsIn(acp("project/otter.ts"), "updates", /sessionUpdate: "(\w+)"/g),
  ferret: kindsIn(acp("project/ferret.ts"), "projectors", /kind: "(\w+)"/g),
};
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
    properties: {
      ...first.properties,
      type: { ...first.properties.type, const: undefined, type: "string" },
      metadata: { type: "object", description: first.properties.metadata.description },
    },
  };
  return `# Records

Everything that happens in a session is a record of its log. \`tools/write-records-doc.mjs\` generates this page from the schemas
of records. It uses the words of the [glossary](glossary.md); the order of records is described in [a session's log](session-log.md).

## A record

${fieldTable(envelope, schemas, linkTo)}

\`GET /sessions/{id}/events\` and \`GET /events\` send every record unchanged. \`GET /session/{id}/events\` uses the older names that are
given below, and \`loop_event\` for other records. An editor gets an ACP \`session/update\` of the given kind, or a request of the given method. The
native dialects notify of a set of records that is fixed with their version: otter names the kind in \`sessionUpdate\`, ferret in \`kind\`.

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

function quoted(kinds, between = "or") {
  return kinds.map((kind) => `\`${kind}\``).join(` ${between} `);
}

function section(type) {
  const about = schemas[type].description;
  if (!about) throw new Error(`no comment in the source describes the type ${type}`);
  const metadata = exampleOf(schemas[type], schemas);
  const example = { type, metadata: metadata.prompt ? { ...metadata, prompt: "msg-0" } : metadata };
  const ways = [
    `Editors: ${editors[type] ?? "nothing"}.`,
    ...Object.entries(native).flatMap(([dialect, kinds]) =>
      kinds[type] ? [`Native ${dialect}: ${quoted(kinds[type])}.`] : [],
    ),
    ...(OLDER[type] ? [`Older stream: \`${OLDER[type]}\`.`] : []),
    ...(OWN.has(type) ? ["The session writes it."] : []),
  ];
  const table =
    fieldsOf(schemas[type]).length === 0 ? "It has no metadata." : fieldTable(schemas[type], schemas, linkTo);
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
  if (!node.description) throw new Error(`no comment in the source describes the shape ${name}`);
  return `### ${name}\n\n${node.description}\n\n${shapeText(node, schemas, linkTo)}\n`;
}

function linkTo(name) {
  return schemas[name] && name !== "SessionRecordSchema" ? anchor(name) : null;
}

/** Record type -> what an editor is sent of it: kinds of update, or the methods by which it is asked. */
function shownToEditors(source, view) {
  const chunks = Object.fromEntries(
    [.../const CHUNKS = \{(.*)\}/.exec(source)[1].matchAll(/(\w+): ("\w+")/g)].map(([, ...row]) => row),
  );
  const found = kindsIn(
    source.replace(/^ {2}(\w+): .*CHUNKS\[type\]/gm, (row, type) => row.replace("CHUNKS[type]", chunks[type])),
    "projectors",
    /(?<!=== )"(\w+_chunk|\w+_update|tool_call|plan|notice)"/g,
  );
  const said = Object.fromEntries(Object.entries(found).map(([type, kinds]) => [type, quoted(kinds)]));
  for (const type of setIn(view, "CONFIG_RECORDS")) said[type] = quoted(["config_option_update"]);
  for (const type of setIn(view, "MODE_RECORDS"))
    said[type] = quoted(["current_mode_update", "config_option_update"], "and");
  return {
    ...said,
    commands_changed: quoted(["available_commands_update"]),
    permission_request: quoted(["session/request_permission"]),
    question_asked: quoted(["elicitation/create", "session/request_permission"]),
  };
}

/** Record type -> the kinds that its row of a table names, and the functions of the source that it calls. */
function kindsIn(source, name, pattern) {
  const start = source.indexOf(`const ${name}: `);
  const rows = source
    .slice(start, source.indexOf("\n};", start))
    .split(/\n {2}(?=\w+: \()/)
    .slice(1);
  const whole = (row) =>
    [...row.matchAll(/\b(\w+)\(/g)].reduce((code, [, called]) => {
      const at = source.indexOf(`function ${called}(`);
      return at < 0 ? code : code + source.slice(at, source.indexOf("\n}", at));
    }, row);
  return Object.fromEntries(
    rows.map((row) => {
      const kinds = [...new Set([...whole(row).matchAll(pattern)].map(([, kind]) => kind))];
      if (kinds.length === 0) throw new Error(`what clients are shown of a record is not in its row: ${row}`);
      return [row.slice(0, row.indexOf(":")), kinds];
    }),
  );
}

function setIn(source, name) {
  const list = source.slice(source.indexOf(`const ${name} = new Set([`)).split("]", 1)[0];
  return [...list.matchAll(/"(\w+)"/g)].map(([, type]) => type);
}
