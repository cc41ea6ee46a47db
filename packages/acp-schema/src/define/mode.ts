/** The two modes of a schema, and how a schema learns which one it runs in. */
import * as v from "valibot";

/** How a schema runs: takes a value, gives a value or issues. */
export type Validate = (
  dataset: v.UnknownDataset,
  config: ModeConfig,
) => v.OutputDataset<unknown, v.BaseIssue<unknown>>;

/** valibot hands its configuration down to every nested schema, so one key in it is the whole of the second mode. */
export interface ModeConfig extends v.Config<v.BaseIssue<unknown>> {
  readonly strict?: boolean;
}

export const isStrict = (config: ModeConfig): boolean => config.strict === true;

/** Replaces how a schema runs. Only for a schema that nobody else holds. */
export function running<S extends v.GenericSchema>(schema: S, wrap: (run: Validate) => Validate): S {
  const run: Validate = schema["~run"].bind(schema);
  return Object.assign(schema, { "~run": wrap(run) });
}

/** The writing mode: accepts exactly what the specification allows and gives the very value back, unrepaired. */
// @__NO_SIDE_EFFECTS__
export function strict<S extends v.GenericSchema>(schema: S): v.GenericSchema<v.InferInput<S>, v.InferInput<S>> {
  const run: Validate = (dataset, config) => {
    const { value } = dataset;
    const output = schema["~run"](dataset, { ...config, strict: true } as ModeConfig);
    return output.issues ? output : { typed: true, value };
  };
  return v._standardSchema({ ...(schema as v.GenericSchema), "~run": run as never });
}
