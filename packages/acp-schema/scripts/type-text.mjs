// A schema as a reader of the pages sees it: its type in a few words, with a link where it has a name.

/** @param linkTo the address of a named schema on the page, or null for one to be written out */
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

/** A table of fields. @param notes field -> what else there is to say of it */
export function fieldTable(node, schemas, linkTo, notes = {}) {
  const rows = fieldsOf(node).map(({ name, value, isRequired }) => {
    const type = typeText(value, schemas, linkTo).replaceAll("|", "\\|");
    return `| \`${name}${isRequired ? "" : "?"}\` | ${type} | ${(notes[name] ?? "").replaceAll("|", "\\|")} |`;
  });
  return ["| field | type | |", "|---|---|---|", ...rows].join("\n");
}

/** Where a heading of this text is on its page. */
export const anchor = (heading) =>
  `#${heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-")}`;
