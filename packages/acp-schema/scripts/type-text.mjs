// Describes the type of a schema in a few words for the pages, with a link if the schema has a name.

/** @param linkTo returns the address of a named schema on the page, or null to write the schema out */
export function typeText(node, schemas, linkTo) {
  if (node.$ref) {
    const name = node.$ref.split("/").at(-1);
    const address = linkTo(name);
    return address === null ? typeText(schemas[name], schemas, linkTo) : `[${name}](${address})`;
  }
  if (node.const !== undefined) return `\`${JSON.stringify(node.const)}\``;
  if (node.enum) return node.enum.map((word) => `\`${JSON.stringify(word)}\``).join(" or ");
  const options = node.anyOf ?? node.oneOf;
  if (options) return options.map((option) => typeText(option, schemas, linkTo)).join(" or ");
  if (node.type === "array") return `list of ${typeText(node.items ?? {}, schemas, linkTo)}`;
  if (node.type === "object" && node.properties) {
    const fields = fieldsOf(node).map(
      ({ name, value, isRequired }) => `\`${name}${isRequired ? "" : "?"}\` ${typeText(value, schemas, linkTo)}`,
    );
    return fields.length === 0 ? "an empty object" : `{ ${fields.join(", ")} }`;
  }
  if (node.type === "object" && node.additionalProperties?.type)
    return `object of ${typeText(node.additionalProperties, schemas, linkTo)}, by name`;
  if (node.type === "object") return "object";
  if (node.format === "date-time") return "time";
  return node.type ?? "any value";
}

export function fieldsOf({ properties = {}, required = [] }) {
  return Object.entries(properties)
    .filter(([, value]) => !value.not)
    .map(([name, value]) => ({ name, value, isRequired: required.includes(name) }));
}

/** The fields of a shape as a table, or those of each of its options. Fails for a field that no comment of the source describes. */
export function shapeText(node, schemas, linkTo) {
  if (node.properties) return fieldTable(node, schemas, linkTo);
  const options = node.oneOf ?? node.anyOf ?? [];
  if (!options.some(({ properties }) => properties)) return `${capital(typeText(node, schemas, linkTo))}.`;
  return options.map((option) => `${nameOf(option)}\n\n${fieldTable(option, schemas, linkTo)}`).join("\n\n");
}

/** Makes a table of fields. Those of an object without a name follow the field that has it. */
export function fieldTable(node, schemas, linkTo) {
  const rows = (one, prefix) =>
    fieldsOf(one).flatMap(({ name, value, isRequired }) => {
      const path = `${prefix}${name}`;
      if (!value.description) throw new Error(`no comment in the source describes the field ${path}`);
      const [inner, text] = unnamed(value, schemas, linkTo);
      const columns = [`\`${path}${isRequired ? "" : "?"}\``, text, value.description];
      const row = `| ${columns.map((column) => column.replaceAll("|", "\\|")).join(" | ")} |`;
      return [row, ...(inner ? rows(inner, `${path}${text.startsWith("list") ? "[]" : ""}.`) : [])];
    });
  return ["| field | type | |", "|---|---|---|", ...rows(node, "")].join("\n");
}

/** The anchor of a heading on its page. */
export const anchor = (heading) =>
  `#${heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-")}`;

// --- internal ---

/** The object without a name that a value is or has, and the value's type in words. */
function unnamed(value, schemas, linkTo) {
  if (value.properties) return [value, "object"];
  if (value.items?.properties) return [value.items, "list of objects"];
  if (value.additionalProperties?.properties) return [value.additionalProperties, "object of objects, by name"];
  const [only, ...more] = value.anyOf?.filter(({ type }) => type !== "null") ?? [];
  if (only?.properties && more.length === 0) return [only, "object or null"];
  return [null, typeText(value, schemas, linkTo)];
}

/** By the field that tells the options apart. */
function nameOf({ properties }) {
  const [name, { const: word }] = Object.entries(properties).find(([, value]) => value.const !== undefined) ?? ["", {}];
  return name
    ? `With \`"${name}": ${JSON.stringify(word)}\`:`
    : `With ${Object.keys(properties)
        .map((field) => `\`${field}\``)
        .join(", ")}:`;
}

const capital = (text) => text.replace(/^[a-z]/, (letter) => letter.toUpperCase());
