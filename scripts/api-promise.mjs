// What a program that was written against an OpenAPI document relies on, and what of it another document breaks.

/** The version, what every operation takes and answers, and the fields and words of every named schema. */
export function promisesOf({ info, paths, components }) {
  const operations = {};
  const taken = new Set();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const body = bodyOf(operation.requestBody);
      visit(body, components.schemas, taken);
      const parameters = (operation.parameters ?? []).map((one) => components.parameters?.[nameOf(one)] ?? one);
      operations[`${method.toUpperCase()} ${path}`] = {
        id: operation.operationId,
        takes: parameters.map(({ in: place, name }) => `${place} ${name}`).sort(),
        needs: parameters
          .filter(({ required }) => required)
          .map(({ in: place, name }) => `${place} ${name}`)
          .sort(),
        body: body ? typeOf(body) : null,
        gives: Object.fromEntries(
          Object.entries(operation.responses)
            .filter(([status]) => status.startsWith("2"))
            .map(([status, answer]) => [
              status,
              Object.entries(answer.content ?? {}).map(([type, { schema = {} }]) => `${type} ${typeOf(schema)}`),
            ]),
        ),
      };
    }
  }
  const schemas = {};
  for (const [name, schema] of Object.entries(components.schemas))
    schemas[name] = { taken: taken.has(name), ...factsOf(schema) };
  return { version: info.version, operations, schemas };
}

/** Nothing when the version has moved: then a program is to be looked at anyway. @param document what `now` is promised by */
export function brokenBy(before, now, { components = {} } = {}) {
  if (now.version !== before.version) return [];
  const problems = [];
  for (const [name, promised] of Object.entries(before.operations)) {
    const found = now.operations[name];
    if (!found) {
      problems.push(`${name} is gone`);
      continue;
    }
    if (found.id !== promised.id) problems.push(`${name} is now called ${found.id}`);
    if (found.body !== promised.body && promised.body !== null) problems.push(`${name} takes another body`);
    problems.push(...missing(promised.takes, found.takes).map((one) => `${name} no longer takes ${one}`));
    problems.push(...missing(found.needs, promised.needs).map((one) => `${name} now needs ${one}`));
    for (const [status, kinds] of Object.entries(promised.gives))
      problems.push(
        ...missing(kinds, found.gives[status] ?? []).map((kind) => `${name} no longer answers ${status} ${kind}`),
      );
  }
  for (const [name, promised] of Object.entries(before.schemas)) {
    const found = now.schemas[name];
    if (!found) {
      problems.push(`the schema ${name} is gone`);
      continue;
    }
    // What was written out in place may have a name now: it is the same to a program.
    const whole = factsInPlace(components.schemas?.[name] ?? {}, components.schemas, !promised.taken);
    const known = missing(promised.fields, [...found.fields, ...whole.fields]);
    problems.push(...known.map((field) => `${name} has lost or changed ${field}`));
    const given = [...found.needs, ...whole.needs];
    const isPromised = (field) => promised.fields.some((one) => one.startsWith(`${field.replace(/\.[^.]*$/, "")}.`));
    const needed = [...found.needs, ...whole.needs.filter(isPromised)];
    if (promised.taken)
      problems.push(...missing([...new Set(needed)], promised.needs).map((field) => `${name} now needs ${field}`));
    else problems.push(...missing(promised.needs, given).map((field) => `${name} may now lack ${field}`));
  }
  return problems;
}

// --- internal ---

const missing = (wanted, there) => wanted.filter((one) => !there.includes(one));

function bodyOf(body) {
  return Object.values(body?.content ?? {})[0]?.schema ?? null;
}

/** Every field of a schema that is written out in place, by its path and type, and those that must be there. */
function factsOf(schema, path = "") {
  const fields = [];
  const needs = [];
  const add = (found) => {
    fields.push(...found.fields);
    needs.push(...found.needs);
  };
  for (const word of schema.enum ?? []) fields.push(`${path} = ${JSON.stringify(word)}`);
  for (const option of schema.anyOf ?? schema.oneOf ?? []) add(factsOf(option, path));
  if (schema.items) add(factsOf(schema.items, `${path}[]`));
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const at = `${path}.${name}`;
    fields.push(`${at}: ${typeOf(field)}`);
    if (schema.required?.includes(name)) needs.push(at);
    add(factsOf(field, at));
  }
  return { fields: [...new Set(fields)], needs: [...new Set(needs)] };
}

/**
 * The same as if no schema had a name.
 *
 * @param isGiven a program that reads an object, or a string, reads one of several all the same
 */
function factsInPlace(schema, schemas, isGiven, path = "", within = []) {
  const name = nameOf(schema);
  if (within.includes(name)) return { fields: [], needs: [] };
  if (name) return factsInPlace(schemas[name], schemas, isGiven, path, [...within, name]);
  const parts = [...(schema.anyOf ?? schema.oneOf ?? [])].map((part) => [part, path]);
  if (schema.items) parts.push([schema.items, `${path}[]`]);
  const fields = (schema.enum ?? []).map((word) => `${path} = ${JSON.stringify(word)}`);
  const needs = [];
  for (const [field, value] of Object.entries(schema.properties ?? {})) {
    const at = `${path}.${field}`;
    fields.push(...typesInPlace(value, schemas, isGiven).map((type) => `${at}: ${type}`));
    if (schema.required?.includes(field)) needs.push(at);
    parts.push([value, at]);
  }
  for (const [part, at] of parts) {
    const found = factsInPlace(part, schemas, isGiven, at, within);
    fields.push(...found.fields);
    needs.push(...found.needs);
  }
  return { fields, needs };
}

function typesInPlace(schema, schemas, isGiven) {
  if (schema.$ref) return typesInPlace(schemas[nameOf(schema)], schemas, isGiven);
  if (schema.type === "array") return typesInPlace(schema.items ?? {}, schemas, isGiven).map((type) => `[${type}]`);
  const options = (schema.anyOf ?? schema.oneOf)?.map((one) => typesInPlace(one, schemas, isGiven)[0]);
  const kinds = new Set(options?.map((type) => (type.startsWith('"') ? "string" : type)));
  return [...(isGiven && kinds.size === 1 ? kinds : []), typeOf(schema)];
}

const nameOf = ({ $ref }) => $ref?.split("/").at(-1);

/** A union may grow, so that its options are not part of its type. */
function typeOf(schema) {
  if (schema.$ref) return nameOf(schema);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf ?? schema.oneOf) return "union";
  if (schema.type === "array") return `[${typeOf(schema.items ?? {})}]`;
  return schema.type ?? "any";
}

function visit(schema, schemas, taken) {
  if (typeof schema !== "object" || schema === null) return;
  const name = nameOf(schema);
  if (name !== undefined && !taken.has(name)) {
    taken.add(name);
    visit(schemas[name], schemas, taken);
  }
  for (const part of Object.values(schema)) visit(part, schemas, taken);
}
