/**
 * The vocabulary every ACP schema is written in. A schema has one definition and two modes: as it stands it *reads*, and
 * repairs what the specification lets a reader repair (its three `x-deserialize-*` flags); `strict(schema)` *writes*, and
 * repairs nothing.
 */
import * as v from "valibot";

/** Any entry of a specification object. */
type Entries = v.ObjectEntries;
type AnyObject<E extends Entries = Entries> = v.ObjectSchema<E, undefined>;

/** A JSON object of any content: not null, not an array. */
// @__NO_SIDE_EFFECTS__
export function json(): v.CustomSchema<Record<string, unknown>, undefined> {
  return v.custom<Record<string, unknown>>(isJsonObject);
}

/** An object of named entries; unknown keys are tolerated and dropped. */
// @__NO_SIDE_EFFECTS__
export function plain<E extends Entries>(entries: E): AnyObject<E> {
  return refusingArrays(v.object(entries));
}

/** An object of the specification: named entries and the `_meta` that all of them take. */
// @__NO_SIDE_EFFECTS__
export function object<E extends Entries>(entries: E): AnyObject<E & MetaEntry> {
  return plain({ ...entries, _meta: maybe(json()) });
}

/** An object that keeps keys it does not name: the custom variants of an open union. */
// @__NO_SIDE_EFFECTS__
export function open<E extends Entries>(entries: E): v.LooseObjectSchema<E, undefined> {
  return refusingArrays(v.looseObject(entries));
}

/** `object` with a discriminator in front of the entries of `schema`. */
// @__NO_SIDE_EFFECTS__
export function tagged<K extends string, N extends string, E extends Entries>(
  key: K,
  name: N,
  schema: AnyObject<E>,
): Tagged<K, N, E> {
  return plain({ [key]: v.literal(name), ...schema.entries }) as unknown as Tagged<K, N, E>;
}

/** A union told apart by the value of `key`. Finds its option by name, so that a long union costs no more than a short one. */
// @__NO_SIDE_EFFECTS__
export function variant<K extends string, T extends Record<string, AnyObject>>(
  key: K,
  table: T,
): v.VariantSchema<K, Options<K, T>[], undefined> {
  const options = Object.entries(table).map(([name, schema]) => tagged(key, name, schema));
  const byName = new Map(Object.keys(table).map((name, index) => [name, options[index]]));
  const schema = v.variant(key, options as never) as unknown as v.VariantSchema<K, Options<K, T>[], undefined>;
  return running(schema, (run) => (dataset, config) => {
    const option = isJsonObject(dataset.value) && byName.get(dataset.value[key] as string);
    return option ? option["~run"](dataset, config) : run(dataset, config);
  });
}

/** One of the known words, or any other string: an enum that may grow. */
// @__NO_SIDE_EFFECTS__
export function openEnum<const W extends readonly string[]>(words: W): OpenEnum<W> {
  return Object.assign(v.string(), { words }) as OpenEnum<W>;
}

/** Optional. Reading a malformed value gives `fallback`, which is nothing unless named. */
// @__NO_SIDE_EFFECTS__
export function lenient<S extends v.GenericSchema>(
  schema: S,
  fallback?: () => v.InferOutput<S>,
): v.OptionalSchema<S, undefined> {
  return repaired(v.optional(schema), () => fallback?.());
}

/** Optional and nullable. Reading a malformed value gives nothing. */
// @__NO_SIDE_EFFECTS__
export function maybe<S extends v.GenericSchema>(
  schema: S,
): v.OptionalSchema<v.NullableSchema<S, undefined>, undefined> {
  return lenient(v.nullable(schema));
}

/** Optional. Reading a missing or malformed value gives `value`. */
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

/** An array. Reading passes over items that are malformed. */
// @__NO_SIDE_EFFECTS__
export function items<S extends v.GenericSchema>(item: S): v.ArraySchema<S, undefined> {
  return running(v.array(item), (run) => (dataset, config) => {
    if (isStrict(config) || !Array.isArray(dataset.value)) return run(dataset, config);
    const value: v.InferOutput<S>[] = [];
    for (const entry of dataset.value) {
      const output = item["~run"]({ value: entry }, config);
      if (!output.issues) value.push(output.value as v.InferOutput<S>);
    }
    return { typed: true, value };
  });
}

/** `items` that must be there; reading a value that is no array gives an empty one. */
// @__NO_SIDE_EFFECTS__
export function requiredItems<S extends v.GenericSchema>(item: S): v.ArraySchema<S, undefined> {
  return repaired(items(item), () => []);
}

/** An array in which each item must be right. Reading `null` gives an empty one. */
// @__NO_SIDE_EFFECTS__
export function list<S extends v.GenericSchema>(item: S): v.ArraySchema<S, undefined> {
  return nullAs(v.array(item), () => []);
}

/** Reading `null` gives `empty`. */
// @__NO_SIDE_EFFECTS__
export function nullAs<S extends v.GenericSchema>(schema: S, empty: () => v.InferInput<S>): S {
  return running(schema, (run) => (dataset, config) => {
    return run(dataset.value === null && !isStrict(config) ? { value: empty() } : dataset, config);
  });
}

/**
 * The writing mode of a schema: accepts exactly what the specification allows, and hands back the very value it was given,
 * with nothing repaired, filled in or dropped.
 */
// @__NO_SIDE_EFFECTS__
export function strict<S extends v.GenericSchema>(schema: S): v.GenericSchema<v.InferInput<S>, v.InferInput<S>> {
  const run: Run = (dataset, config: ModeConfig) => {
    const { value } = dataset;
    const output = schema["~run"](dataset, { ...config, strict: true } as ModeConfig);
    return output.issues ? output : { typed: true, value };
  };
  return v._standardSchema({ ...(schema as v.GenericSchema), "~run": run as never });
}

// --- internal ---

type MetaEntry = {
  readonly _meta: v.OptionalSchema<
    v.NullableSchema<v.CustomSchema<Record<string, unknown>, undefined>, undefined>,
    undefined
  >;
};

type Tagged<K extends string, N extends string, E extends Entries> = AnyObject<
  { readonly [P in K]: v.LiteralSchema<N, undefined> } & E
>;

type Options<K extends string, T extends Record<string, AnyObject>> = {
  [N in keyof T & string]: Tagged<K, N, T[N]["entries"]>;
}[keyof T & string];

/** Keeps the known words in sight of an editor's completion. */
export type OpenEnum<W extends readonly string[]> = v.GenericSchema<W[number] | (string & {})> & { readonly words: W };

type Config = v.Config<v.BaseIssue<unknown>>;
type Run = (dataset: v.UnknownDataset, config: Config) => v.OutputDataset<unknown, v.BaseIssue<unknown>>;

/** valibot hands its configuration down to every nested schema, so one key in it is the whole of the second mode. */
interface ModeConfig extends Config {
  readonly strict?: boolean;
}

const isStrict = (config: ModeConfig): boolean => config.strict === true;

function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Replaces how a schema that nobody else holds runs. */
function running<S extends v.GenericSchema>(schema: S, wrap: (run: Run) => Run): S {
  const run: Run = schema["~run"].bind(schema);
  return Object.assign(schema, { "~run": wrap(run) });
}

function repaired<S extends v.GenericSchema>(schema: S, fallback: () => unknown): S {
  return running(schema, (run) => (dataset, config) => {
    const output = run(dataset, config);
    return output.issues && !isStrict(config) ? { typed: true, value: fallback() } : output;
  });
}

/** valibot takes an array for an object; JSON Schema does not. */
function refusingArrays<S extends v.GenericSchema>(schema: S): S {
  return running(schema, (run) => (dataset, config) => {
    if (!Array.isArray(dataset.value)) return run(dataset, config);
    v._addIssue(schema, "type", dataset, config);
    return dataset as never;
  });
}
