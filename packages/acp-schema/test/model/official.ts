/** Reads the specification's JSON Schema and makes its models. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Model, union } from "./model.js";

export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  additionalProperties?: boolean | JsonSchema;
  unevaluatedProperties?: boolean;
  allOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  "x-method"?: string;
  "x-side"?: string;
}

export interface Official {
  $defs: Record<string, JsonSchema>;
}

const require = createRequire(import.meta.url);

/** Reads a fresh copy each time, because tests change it. */
export function readOfficial(file: "schema.json" | "schema.unstable.json"): Official {
  return JSON.parse(readFileSync(require.resolve(`@agentclientprotocol/sdk/schema/v1/${file}`), "utf8"));
}

/** Whether a definition is an envelope or stands for extension methods. Ours has method tables instead. */
export const isEnvelope = (name: string) =>
  /^(Agent|Client|Proxy)(Request|Response|Notification)$|^Ext(Request|Response|Notification)$/.test(name);

/** The name of each annotated definition, by `side method kind`. */
export function officialMethods(official: Official): Map<string, string> {
  const rows = Object.entries(official.$defs).flatMap(([name, definition]) => {
    if (!definition["x-method"]) return [];
    const part = /(Request|Response|Notification)$/.exec(name)?.[1]?.toLowerCase();
    return [[`${definition["x-side"]} ${definition["x-method"]} ${part}`, name] as const];
  });
  return new Map(rows);
}

const bounds: Record<string, { min?: number; max?: number }> = {
  uint16: { min: 0, max: 0xffff },
  uint32: { min: 0, max: 0xffff_ffff },
  uint64: { min: 0 },
  int32: { min: -(2 ** 31), max: 2 ** 31 - 1 },
};

export function officialModel({ $defs }: Official, name: string): Model {
  const resolve = (schema: JsonSchema): Model => {
    if (schema.$ref) return resolve($defs[schema.$ref.replace("#/$defs/", "")] as JsonSchema);
    const alternatives = schema.oneOf ?? schema.anyOf;
    const parts: Model[] = [
      ...(schema.type || schema.properties ? [own(schema)] : []),
      ...(schema.allOf ?? []).map(resolve),
      ...(alternatives ? [union(alternatives.map(resolve))] : []),
    ];
    return parts.length === 0 ? { kind: "any" } : parts.reduce(merge);
  };

  const own = (schema: JsonSchema): Model => {
    if ("const" in schema) return { kind: "const", value: schema.const };
    if (Array.isArray(schema.type)) return union(schema.type.map((type) => own({ ...schema, type })));
    switch (schema.type) {
      case "string": {
        const note = schema.format ?? (schema.minLength === undefined ? undefined : `min ${schema.minLength}`);
        return note ? { kind: "string", note } : { kind: "string" };
      }
      case "integer":
        return { kind: "integer", ...bounds[schema.format ?? ""] };
      case "array":
        return { kind: "array", items: resolve(schema.items ?? {}) };
      case "number":
      case "boolean":
      case "null":
        return { kind: schema.type };
      default:
        return ownObject(schema);
    }
  };

  const ownObject = (schema: JsonSchema): Model => {
    if (!schema.properties) {
      const values = schema.additionalProperties;
      const compound = schema.allOf ?? schema.anyOf ?? schema.oneOf;
      if (compound) return { kind: "object", open: false, entries: {} };
      return { kind: "record", values: typeof values === "object" ? resolve(values) : { kind: "any" } };
    }
    const entries = Object.entries(schema.properties).map(
      ([key, value]) => [key, { required: schema.required?.includes(key) ?? false, model: resolve(value) }] as const,
    );
    const open = schema.additionalProperties === true || schema.unevaluatedProperties === true;
    return { kind: "object", open, entries: Object.fromEntries(entries) };
  };

  return resolve($defs[name] as JsonSchema);
}

/** The model of values that fit both models: entries are joined, and a union is joined option by option. */
function merge(a: Model, b: Model): Model {
  if (a.kind === "union") return union(a.options.map((option) => merge(option, b)));
  if (b.kind === "union") return union(b.options.map((option) => merge(a, option)));
  if (a.kind !== "object" || b.kind !== "object") return b;
  return { kind: "object", open: a.open || b.open, entries: { ...a.entries, ...b.entries } };
}
