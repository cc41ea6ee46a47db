/**
 * The functions that make every schema here. A schema has one definition and two modes. By itself it *reads*, and repairs
 * values as far as the specification allows a reader (its three `x-deserialize-*` flags). `strict(schema)` *writes*, and
 * repairs nothing.
 *
 * Entries are functions that run on first use. So a program that imports the whole protocol builds only the schemas of the
 * messages it receives, and a bundler drops the schemas that no code names.
 */
import * as v from "valibot";
import { isJsonObject } from "./lenient.js";
import { isStrict, running, type Validate } from "./mode.js";

/** An unsigned integer of 32 bits. */
// @__NO_SIDE_EFFECTS__
export const uint32 = () => v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffff_ffff));

/** An unsigned integer of 64 bits. It has no upper limit, because `JSON.parse` rounds numbers that do not fit. */
// @__NO_SIDE_EFFECTS__
export const uint64 = () => v.pipe(v.number(), v.integer(), v.minValue(0));

/** A signed integer of 64 bits. */
// @__NO_SIDE_EFFECTS__
export const int64 = () => v.pipe(v.number(), v.integer());

type Entries = v.ObjectEntries;
export type ObjectOf<E extends Entries = Entries> = v.ObjectSchema<E, undefined>;

/** A JSON object with any content, not null and not an array. */
// @__NO_SIDE_EFFECTS__
export function json(): v.CustomSchema<Record<string, unknown>, undefined> {
  return v.custom<Record<string, unknown>>(isJsonObject);
}

/** A JSON object with any names, whose values all have one schema. */
// @__NO_SIDE_EFFECTS__
export function record<S extends v.GenericSchema>(value: S): v.RecordSchema<v.StringSchema<undefined>, S, undefined> {
  return refusingArrays(v.record(v.string(), value));
}

/** An object of named entries. Unknown keys are accepted and dropped. */
// @__NO_SIDE_EFFECTS__
export function plain<E extends Entries>(entries: () => E): ObjectOf<E> {
  return deferred("object", "entries", () => refusingArrays(v.object(entries())));
}

/** An object of the specification: named entries, and the `_meta` that all such objects have. */
// @__NO_SIDE_EFFECTS__
export function object<E extends Entries>(entries: () => E): ObjectOf<E & MetaEntry> {
  return plain(() => ({ ...entries(), ...meta() }));
}

/** The entry for data outside the specification. */
// @__NO_SIDE_EFFECTS__
export function meta(): MetaEntry {
  return { _meta: maybe(json()) };
}

/** An object that keeps unknown keys, for the custom variants of an open union. */
// @__NO_SIDE_EFFECTS__
export function open<E extends Entries>(entries: () => E): v.LooseObjectSchema<E, undefined> {
  return deferred("loose_object", "entries", () => refusingArrays(v.looseObject(entries())));
}

/** The entries of `schema` with a discriminator in front. */
// @__NO_SIDE_EFFECTS__
export function tagged<K extends string, N extends string, E extends Entries>(
  key: K,
  name: N,
  schema: ObjectOf<E>,
): Tagged<K, N, E> {
  return plain(() => ({ [key]: v.literal(name), ...schema.entries })) as unknown as Tagged<K, N, E>;
}

/** A union whose options differ in the value of `key`. It finds an option by name, so that a long union is as fast as a short one. */
// @__NO_SIDE_EFFECTS__
export function variant<K extends string, T extends Record<string, ObjectOf>>(
  key: K,
  table: () => T,
): v.VariantSchema<K, Options<K, T>[], undefined> {
  return deferred("variant", "options", () => {
    const byName = new Map(Object.entries(table()).map(([name, schema]) => [name, tagged(key, name, schema)]));
    return running(v.variant(key, [...byName.values()] as never), (run) => (dataset, config) => {
      const option = isJsonObject(dataset.value) && byName.get(dataset.value[key] as string);
      return option ? option["~run"](dataset, config) : run(dataset, config);
    }) as unknown as v.VariantSchema<K, Options<K, T>[], undefined>;
  });
}

/** An enum that may grow: one of the known words, or any other string. */
// @__NO_SIDE_EFFECTS__
export function openEnum<const W extends readonly string[]>(words: W): OpenEnum<W> {
  return Object.assign(v.string(), { words }) as OpenEnum<W>;
}

/** The tag of a custom variant. Known tags are refused, so that a known variant with a malformed payload is not taken for a custom one. */
// @__NO_SIDE_EFFECTS__
export function otherThan(...known: string[]) {
  return v.pipe(
    v.string(),
    v.check((tag) => !known.includes(tag)),
  );
}

/** An optional value. Reading a malformed value gives `fallback`, by default undefined. */
// @__NO_SIDE_EFFECTS__
export function lenient<S extends v.GenericSchema>(
  schema: S,
  fallback?: () => v.InferOutput<S>,
): v.OptionalSchema<S, undefined> {
  return repaired(v.optional(schema), () => fallback?.());
}

/** An optional and nullable value. Reading a malformed value gives undefined. */
// @__NO_SIDE_EFFECTS__
export function maybe<S extends v.GenericSchema>(
  schema: S,
): v.OptionalSchema<v.NullableSchema<S, undefined>, undefined> {
  return lenient(v.nullable(schema));
}

/** An optional value. Reading a missing or malformed value gives `value`. */
// @__NO_SIDE_EFFECTS__
export function defaulted<S extends v.GenericSchema>(
  schema: S,
  value: () => v.InferInput<S>,
): v.OptionalSchema<S, () => v.InferInput<S>> {
  const optional = v.optional(schema, value as never) as unknown as v.OptionalSchema<S, () => v.InferInput<S>>;
  return running(optional, (run) => (dataset, config) => {
    const output = run(dataset, config);
    return output.issues && !isStrict(config) ? run({ value: value() }, config) : output;
  });
}

/** An array. Reading leaves out malformed items. */
// @__NO_SIDE_EFFECTS__
export function items<S extends v.GenericSchema>(item: S): v.ArraySchema<S, undefined> {
  return running(v.array(item), (run) => (dataset, config) => {
    if (isStrict(config) || !Array.isArray(dataset.value)) return run(dataset, config);
    const value: unknown[] = [];
    for (const entry of dataset.value) {
      const output = item["~run"]({ value: entry }, config);
      if (!output.issues) value.push(output.value);
    }
    return { typed: true, value };
  });
}

/** Required `items`. Reading a value that is not an array gives an empty one. */
// @__NO_SIDE_EFFECTS__
export function requiredItems<S extends v.GenericSchema>(item: S): v.ArraySchema<S, undefined> {
  return repaired(items(item), () => []);
}

/** An array in which each item must be valid. Reading `null` gives an empty one. */
// @__NO_SIDE_EFFECTS__
export function list<S extends v.GenericSchema>(item: S): v.ArraySchema<S, undefined> {
  return nullAs(v.array(item), () => []);
}

/** Makes reading `null` give `empty`. It changes the schema, so no other code may hold it. */
// @__NO_SIDE_EFFECTS__
export function nullAs<S extends v.GenericSchema>(schema: S, empty: () => v.InferInput<S>): S {
  return running(schema, (run) => (dataset, config) => {
    return run(dataset.value === null && !isStrict(config) ? { value: empty() } : dataset, config);
  });
}

/** A string type for which an editor's completion still offers the known words. */
export type OpenEnum<W extends readonly string[]> = v.GenericSchema<W[number] | (string & {})> & { readonly words: W };

// --- internal ---

type MetaEntry = {
  readonly _meta: v.OptionalSchema<
    v.NullableSchema<v.CustomSchema<Record<string, unknown>, undefined>, undefined>,
    undefined
  >;
};

type Tagged<K extends string, N extends string, E extends Entries> = ObjectOf<
  { readonly [P in K]: v.LiteralSchema<N, undefined> } & E
>;

type Options<K extends string, T extends Record<string, ObjectOf>> = {
  [N in keyof T & string]: Tagged<K, N, T[N]["entries"]>;
}[keyof T & string];

/** A schema that is built when it first runs, or when its `part` is first read. */
function deferred<S extends v.GenericSchema, P extends keyof S & string>(type: S["type"], part: P, build: () => S): S {
  let built: S | undefined;
  const get = (): S => {
    built ??= build();
    return built;
  };
  const run: Validate = (dataset, config) => get()["~run"](dataset, config);
  const schema = { kind: "schema", type, expects: "Object", async: false, "~run": run };
  Object.defineProperty(schema, part, { enumerable: true, get: () => get()[part] });
  return v._standardSchema(schema as never) as unknown as S;
}

function repaired<S extends v.GenericSchema>(schema: S, fallback: () => unknown): S {
  return running(schema, (run) => (dataset, config) => {
    const output = run(dataset, config);
    return output.issues && !isStrict(config) ? { typed: true, value: fallback() } : output;
  });
}

/** Valibot accepts an array as an object, but JSON Schema does not. */
function refusingArrays<S extends v.GenericSchema>(schema: S): S {
  return running(schema, (run) => (dataset, config) => {
    if (!Array.isArray(dataset.value)) return run(dataset, config);
    v._addIssue(schema, "type", dataset, config);
    return dataset as never;
  });
}
