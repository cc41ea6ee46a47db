/** The official schema, closed: as published it lets custom keys pass at the root of every type, which the protocol forbids. */
import type { Ajv2020, ValidateFunction } from "ajv/dist/2020.js";

/** The parts of a JSON Schema that this reads. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly [keyword: string]: unknown;
}

export interface OfficialSchema {
  readonly $defs: Readonly<Record<string, JsonSchema>>;
}

/** A validator per definition, compiled when first asked for. */
export function createClosedSchema(
  Ajv: typeof Ajv2020,
  { $defs }: OfficialSchema,
): (definition: string) => ValidateFunction {
  const ajv = new Ajv({ strict: false, formats });
  ajv.addSchema({
    $id: "acp",
    $defs: Object.fromEntries(Object.entries($defs).map(([name, one]) => [name, inside(one)])),
  });
  const validators = new Map<string, ValidateFunction>();
  return (definition) => {
    let validate = validators.get(definition);
    if (!validate) {
      validate = ajv.compile(site({ $ref: `acp#/$defs/${definition}` }));
      validators.set(definition, validate);
    }
    return validate;
  };

  /** A place where a value stands: nothing may be left over there. */
  function site(schema: JsonSchema): JsonSchema {
    const closed = inside(schema);
    return namesKeys(schema) ? { ...closed, unevaluatedProperties: false } : closed;
  }

  /** A part that describes the same value together with others: only what is below it is closed. */
  function inside(schema: JsonSchema): JsonSchema {
    const { properties, items, additionalProperties, allOf, anyOf, oneOf, ...rest } = schema;
    return {
      ...rest,
      ...(properties && {
        properties: Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, site(one)])),
      }),
      ...(items && { items: site(items) }),
      ...(additionalProperties !== undefined && {
        additionalProperties:
          typeof additionalProperties === "object" ? site(additionalProperties) : additionalProperties,
      }),
      ...(allOf && { allOf: allOf.map(inside) }),
      ...(anyOf && { anyOf: anyOf.map(inside) }),
      ...(oneOf && { oneOf: oneOf.map(inside) }),
    } as JsonSchema;
  }

  /** False for free-form values and open maps, which must stay open. */
  function namesKeys(schema: JsonSchema): boolean {
    if (schema.$ref) return namesKeys($defs[schema.$ref.replace(/^.*\$defs\//, "")] ?? {});
    const parts = [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
    return schema.properties !== undefined || parts.some(namesKeys);
  }
}

// --- internal ---

const within = (min: number, max: number) => ({
  type: "number" as const,
  validate: (value: number) => value >= min && value <= max,
});

/** The formats the schema names; 64-bit integers have been rounded by `JSON.parse` already. */
const formats = {
  uint16: within(0, 0xffff),
  uint32: within(0, 0xffff_ffff),
  uint64: within(0, Number.POSITIVE_INFINITY),
  int32: within(-(2 ** 31), 2 ** 31 - 1),
  int64: within(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY),
  double: within(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY),
  uri: (value: string) => URL.canParse(value),
};
