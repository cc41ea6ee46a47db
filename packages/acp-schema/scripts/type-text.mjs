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
  if (node.type === "object") return "object";
  if (node.format === "date-time") return "time";
  return node.type ?? "any value";
}

export function fieldsOf({ properties = {}, required = [] }) {
  return Object.entries(properties)
    .filter(([, value]) => !value.not)
    .map(([name, value]) => ({ name, value, isRequired: required.includes(name) }));
}

/** Makes a table of fields. @param notes further remarks by field */
export function fieldTable(node, schemas, linkTo, notes = {}) {
  const rows = fieldsOf(node).map(({ name, value, isRequired }) => {
    const type = typeText(value, schemas, linkTo).replaceAll("|", "\\|");
    return `| \`${name}${isRequired ? "" : "?"}\` | ${type} | ${(notes[name] ?? "").replaceAll("|", "\\|")} |`;
  });
  return ["| field | type | |", "|---|---|---|", ...rows].join("\n");
}

/** The anchor of a heading on its page. */
export const anchor = (heading) =>
  `#${heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-")}`;
