/** The two modes of a schema, reading and writing. */
import * as v from "valibot";

/** The function that runs a schema: it takes a value and returns a value or issues. */
export type Validate = (
  dataset: v.UnknownDataset,
  config: ModeConfig,
) => v.OutputDataset<unknown, v.BaseIssue<unknown>>;

/** Valibot passes its configuration to every nested schema, so one key in it is enough for the second mode. */
export interface ModeConfig extends v.Config<v.BaseIssue<unknown>> {
  readonly strict?: boolean;
}

export const isStrict = (config: ModeConfig): boolean => config.strict === true;

/** Wraps the run function of a schema. It changes the schema, so no other code may hold it. */
export function running<S extends v.GenericSchema>(schema: S, wrap: (run: Validate) => Validate): S {
  const run: Validate = schema["~run"].bind(schema);
  return Object.assign(schema, { "~run": wrap(run) });
}

// @__NO_SIDE_EFFECTS__
/**
 * The writing mode: accepts exactly the values that the specification allows, and returns the same value unrepaired.
 *
 * @example
 * const value = { protocolVersion: 1, clientCapabilities: { terminal: "yes" } };
 * v.is(InitializeRequest, value); // true: reading takes the capability as false
 * v.is(strict(InitializeRequest), value); // false
 */
export function strict<S extends v.GenericSchema>(schema: S): v.GenericSchema<v.InferInput<S>, v.InferInput<S>> {
  const run: Validate = (dataset, config) => {
    const { value } = dataset;
    const output = schema["~run"](dataset, { ...config, strict: true } as ModeConfig);
    return output.issues ? output : { typed: true, value };
  };
  return v._standardSchema({ ...(schema as v.GenericSchema), "~run": run as never });
}
