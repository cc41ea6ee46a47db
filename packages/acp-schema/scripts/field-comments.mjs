// Puts the comments of the source into its JSON Schema as descriptions, so that documents and generated types explain what the source
// does, and no program loads the sentences. A field's comment stands above it, or as `@property name` in the comment above its object.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readSyntax } from "../../../scripts/read-source.mjs";

/** @param entries the files of `src` that export the schemas @param schemas JSON Schema by the name of the export, which get descriptions */
export function describeFields(entries, schemas) {
  const paths = entries.map(pathOf);
  const find = (name) => {
    const [prefix, row] = name.split(".");
    for (const file of paths) {
      const found = row ? rowOf(file, TABLES[prefix], row) : (lookup(file, name) ?? rowOf(file, "metadata", name));
      if (found) return found;
    }
    throw new Error(`no source declares the schema ${name}`);
  };
  for (const [name, schema] of Object.entries(schemas)) {
    const { node, file, notes } = find(name);
    describe(schema, node, file, notes);
    describeItself(schema, notes);
  }
}

/** The fields that every record has. */
export function describeRecords(schema) {
  const { node, file } = lookup(pathOf("events/record.ts"), "recordEntries");
  for (const option of schema.oneOf) fieldsOf(option, returned(node), file, NONE);
}

/** JSON Schema of a TypeScript interface, for what has no schema at run time. */
export function schemaOfInterface(entry, name) {
  const file = pathOf(entry);
  return { ...ofType(typeIn(file, name), file), description: syntaxOf(file).types.get(name).notes.about };
}

// --- internal ---

const NONE = { about: "", properties: new Map() };
const TABLES = { stream: "sessionStream", many: "manyStream" };
const files = new Map();
const pathOf = (entry) => fileURLToPath(new URL(`../src/${entry}`, import.meta.url));

function syntaxOf(file) {
  if (files.has(file)) return files.get(file);
  const { program, commentBefore } = readSyntax(file, readFileSync(file, "utf8"));
  const [names, types, imports, notesOf] = [new Map(), new Map(), new Map(), (node) => parse(commentBefore(node))];
  for (const statement of program.body) {
    const own = statement.declaration ?? statement;
    const from =
      statement.source?.value.startsWith(".") && join(dirname(file), statement.source.value.replace(/\.js$/, ".ts"));
    for (const { imported, local, exported } of from ? statement.specifiers : [])
      imports.set((exported ?? local).name, { file: from, name: (imported ?? local).name });
    for (const { id, init } of own.declarations ?? []) names.set(id.name, { node: init, notes: notesOf(statement) });
    if (own.type === "FunctionDeclaration") names.set(own.id.name, { node: own, notes: notesOf(statement) });
    if (/^TS(Interface|TypeAlias)Declaration$/.test(own.type))
      types.set(own.id.name, { node: own, notes: notesOf(statement) });
  }
  files.set(file, { names, types, imports, notesOf });
  return files.get(file);
}

/** The words of a comment, and those of each `@property`. */
function parse(comment) {
  if (comment === null) return NONE;
  const text = comment
    .replaceAll(/\s*\n\s*\*? ?/g, " ")
    .replace(/^\*+/, "")
    .trim();
  const [about, ...tags] = text.split(/(?:^| )@(?=[a-z]+ )/);
  const properties = tags.flatMap((tag) => {
    const [, name, words] = /^property (\w+) (.*)$/.exec(tag) ?? [];
    return name ? [[name, words.trim()]] : [];
  });
  return { about: about.trim(), properties: new Map(properties) };
}

/** The declaration of a name, in this file or the one that it comes from. */
function lookup(file, name) {
  const { names, imports } = syntaxOf(file);
  if (names.has(name)) return { ...names.get(name), file };
  const from = imports.get(name);
  return from && lookup(from.file, from.name);
}

function inNamespace(file, { object, property }) {
  if (property.name === "entries") return lookup(file, object.name);
  return lookup(syntaxOf(file).imports.get(object.name).file, property.name);
}

function rowOf(file, table, row) {
  const found = lookup(file, table);
  const property = found && bare(found.node).properties.find(({ key }) => key.name === row);
  return property && { node: property.value, file: found.file, notes: syntaxOf(found.file).notesOf(property) };
}

function bare(node) {
  return /^(TS(As|Satisfies)|Parenthesized)Expression$/.test(node.type) ? bare(node.expression) : node;
}

function returned({ body }) {
  return bare(
    body.type === "BlockStatement" ? body.body.find(({ type }) => type === "ReturnStatement").argument : body,
  );
}

/** Describes what is in a schema that is written out in place; one that is only named describes itself. */
function describe(schema, expression, file, notes) {
  const node = bare(expression);
  if (!schema || schema.$ref) return;
  if (node.type === "ObjectExpression") return fieldsOf(schema, node, file, notes);
  if (node.type === "ArrowFunctionExpression") return describe(schema, returned(node), file, notes);
  if (node.type === "Identifier" || node.type === "MemberExpression") {
    const found = node.name ? lookup(file, node.name) : inNamespace(file, node);
    return found && describe(schema, found.node, found.file, notes.properties.size > 0 ? notes : found.notes);
  }
  if (node.type !== "CallExpression") return;
  const [first, second] = node.arguments;
  const inner = (sub, argument) => describe(sub, argument, file, notes);
  switch (node.callee.property?.name ?? node.callee.name) {
    case "nullable":
    case "maybe":
      return inner(
        schema.anyOf?.find(({ type }) => type !== "null"),
        first,
      );
    case "array":
    case "items":
      return inner(schema.items, first);
    case "record":
      return inner(schema.additionalProperties, second ?? first);
    case "union":
      return first.elements.forEach((one, index) => void inner(schema.anyOf[index], one));
    case "variant":
      return optionsOf(schema, second, file);
    case "pipe":
    case "optional":
    case "object":
    case "looseObject":
    case "plain":
      return inner(schema, first);
    default: {
      const called = node.callee.name && lookup(file, node.callee.name);
      return called?.node.body && describe(schema, returned(called.node), called.file, called.notes);
    }
  }
}

/** The comment above an option also says what its word means. */
function optionsOf(schema, expression, file) {
  // The record of every type has the same fields: see `describeRecords`.
  if (bare(expression).type === "CallExpression") return;
  const { notesOf } = syntaxOf(file);
  const rows = expression.elements ?? returned(expression).properties;
  const options = schema.oneOf ?? schema.anyOf;
  rows.forEach((row, index) => {
    const notes = notesOf(row);
    const word = Object.values(options[index].properties).find((one) => one.const !== undefined);
    if (word && notes.about) word.description = notes.about;
    describe(options[index], row.value ?? row, file, notes);
  });
}

function fieldsOf(schema, object, file, { properties }) {
  const { notesOf } = syntaxOf(file);
  for (const property of object.properties) {
    if (property.type === "SpreadElement") {
      describe(schema, property.argument, file, NONE);
      continue;
    }
    const field = schema.properties?.[property.key.name];
    if (!field) continue;
    const notes = notesOf(property);
    describe(field, property.value, file, notes);
    describeItself(field, { about: notes.about || properties.get(property.key.name) || field.description });
  }
  if (schema.properties?._meta) schema.properties._meta.description ??= "Data outside the specification.";
  for (const name of properties.keys())
    if (!schema.properties?.[name])
      throw new Error(`${file}: a comment describes ${name}, which is not a field of its object`);
}

/** What says what a schema is comes first. */
function describeItself(schema, { about }) {
  if (!about) return;
  const rest = { ...schema };
  for (const key of Object.keys(schema)) delete schema[key];
  Object.assign(schema, { ...rest, description: about });
}

function typeIn(file, name) {
  const found = syntaxOf(file).types.get(name);
  if (!found) throw new Error(`${file} has no type ${name}`);
  return found.node;
}

/** Only what the interfaces here are made of. */
function ofType(node, file) {
  const { types, imports, notesOf } = syntaxOf(file);
  switch (node.type) {
    case "TSInterfaceDeclaration": {
      const members = node.body.body.map(({ key, optional, typeAnnotation, ...member }) => {
        const value = { ...ofType(typeAnnotation.typeAnnotation, file), description: notesOf(member).about };
        return { name: key.name, optional, value };
      });
      const bases = (node.extends ?? []).map(({ expression, typeArguments }) => {
        const isPartial = expression.name === "Partial";
        const base = ofType(
          isPartial ? typeArguments.params[0] : { type: "TSTypeReference", typeName: expression },
          file,
        );
        return isPartial ? { ...base, required: [] } : base;
      });
      return {
        type: "object",
        properties: Object.assign(
          {},
          ...bases.map((one) => one.properties),
          ...members.map(({ name, value }) => ({ [name]: value })),
        ),
        required: [
          ...bases.flatMap((one) => one.required),
          ...members.filter((one) => !one.optional).map(({ name }) => name),
        ],
      };
    }
    case "TSTypeAliasDeclaration":
      return ofType(node.typeAnnotation, file);
    case "TSUnionType": {
      const options = node.types.map((one) => ofType(one, file));
      return options.every((one) => one.const !== undefined)
        ? { type: "string", enum: options.map((one) => one.const) }
        : { anyOf: options };
    }
    case "TSTypeOperator":
      return ofType(node.typeAnnotation, file);
    case "TSArrayType":
      return { type: "array", items: ofType(node.elementType, file) };
    case "TSLiteralType":
      return { const: node.literal.value };
    case "TSTypeReference": {
      const { name } = node.typeName;
      const [first, second] = node.typeArguments?.params ?? [];
      if (name === "Readonly") return ofType(first, file);
      if (name === "Record") return { type: "object", additionalProperties: ofType(second, file) };
      const from = imports.get(name);
      return types.has(name) ? ofType(types.get(name).node, file) : ofType(typeIn(from.file, from.name), from.file);
    }
    default: {
      const word = /^TS(String|Number|Boolean|Null)Keyword$/.exec(node.type)?.[1].toLowerCase();
      if (!word) throw new Error(`${file}: there is no JSON Schema for a type of this form: ${node.type}`);
      return { type: word };
    }
  }
}
