// Makes an example of a schema: plausible values for its required fields, and for optional ones that show its purpose.
export const TEXTS = {
  session_id: "otter-20260425T120300-aaaa1111",
  run_id: "otter-20260425T120300-aaaa1111",
  parent_id: "otter-20260425T115900-bbbb2222",
  session_token: "Hk9-example-token",
  prompt: "list files and read README",
  model: "claude-sonnet-5-5",
  cwd: "/home/me/project",
  working_dir: "/home/me/project",
  path: "src/main.js",
  message_id: "msg-0",
  title: "Read the README",
  id: "evt-7c8a4f1e",
};

/** @param schema a schema with references below `#/components/schemas/` */
export function exampleOf(schema, schemas, name = "", depth = 0) {
  if (schema.$ref) return exampleOf(schemas[schema.$ref.split("/").at(-1)], schemas, name, depth);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return exampleOf(options.find(({ type }) => type !== "null") ?? options[0], schemas, name, depth);
  if (schema.type === "array")
    return depth > 3 && !schema.minItems ? [] : [exampleOf(schema.items ?? {}, schemas, name, depth + 1)];
  if (schema.type === "object") {
    const fields = Object.entries(schema.properties ?? {}).filter(([field]) => schema.required?.includes(field));
    return Object.fromEntries(fields.map(([field, value]) => [field, exampleOf(value, schemas, field, depth + 1)]));
  }
  if (schema.type === "boolean") return true;
  if (schema.type === "number" || schema.type === "integer") return Math.max(1, schema.minimum ?? 1);
  if (schema.type === "string")
    return TEXTS[name] ?? (/_at$|^created$|^updated$|^since$|^ts$/.test(name) ? "2026-04-25T12:03:00Z" : "text");
  return null;
}
