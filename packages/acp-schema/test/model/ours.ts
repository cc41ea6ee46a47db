/** Makes models of our schemas. */
import type * as v from "valibot";
import { type Model, union } from "./model.js";

/** The parts of a valibot schema that determine the values it accepts. */
interface Looked {
  type: string;
  entries?: Record<string, Looked>;
  options?: (Looked | string)[];
  wrapped?: Looked;
  item?: Looked;
  value?: Looked | unknown;
  literal?: unknown;
  words?: string[];
  pipe?: { type: string; requirement?: unknown }[];
}

export function ourModel(schema: v.GenericSchema): Model {
  return model(schema as unknown as Looked);
}

function model(schema: Looked): Model {
  switch (schema.type) {
    case "object":
    case "loose_object":
      return {
        kind: "object",
        open: schema.type === "loose_object",
        entries: Object.fromEntries(
          Object.entries(schema.entries ?? {}).map(([key, entry]) => [
            key,
            { required: entry.type !== "optional" && entry.type !== "nullish", model: model(entry) },
          ]),
        ),
      };
    case "optional":
      return model(schema.wrapped as Looked);
    case "nullable":
    case "nullish":
      return union([{ kind: "null" }, model(schema.wrapped as Looked)]);
    case "picklist":
      return union((schema.options as string[]).map((value) => ({ kind: "const", value })));
    case "literal":
      return { kind: "const", value: schema.literal };
    case "union":
    case "variant":
      return union((schema.options as Looked[]).map(model));
    case "array":
      return { kind: "array", items: model(schema.item as Looked) };
    case "record":
      return { kind: "record", values: model(schema.value as Looked) };
    case "custom":
      return { kind: "record", values: { kind: "any" } };
    case "unknown":
      return { kind: "any" };
    case "string":
      return string(schema);
    case "number":
      return number(schema);
    case "boolean":
    case "null":
      return { kind: schema.type };
    default:
      throw new Error(`no model for a schema of type ${schema.type}`);
  }
}

function string(schema: Looked): Model {
  if (schema.words)
    return union([...schema.words.map((value): Model => ({ kind: "const", value })), { kind: "string" }]);
  const actions = new Map(schema.pipe?.map((action) => [action.type, action.requirement]));
  if (actions.has("url")) return { kind: "string", note: "uri" };
  if (actions.has("min_length")) return { kind: "string", note: `min ${actions.get("min_length")}` };
  return { kind: "string" };
}

function number(schema: Looked): Model {
  const actions = new Map(schema.pipe?.map((action) => [action.type, action.requirement as number]));
  if (!actions.has("integer")) return { kind: "number" };
  const [min, max] = [actions.get("min_value"), actions.get("max_value")];
  return { kind: "integer", ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
}
