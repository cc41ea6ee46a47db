/** JSON Schema of the few valibot shapes that tool inputs are made of, so that each input is written down once. */
import type * as v from "valibot";
import type { JsonSchema } from "../tool.js";

/** Throws for a shape it does not know: a programmer's mistake, met when the tool is made. */
export function jsonSchemaOf(schema: v.GenericSchema): JsonSchema {
  return documentOf(schema as Node);
}

// --- internal ---

/** What valibot keeps of a shape that was put together; which of it is there, the type tells. */
interface Node {
  readonly type: string;
  readonly pipe?: readonly (Node & { readonly description?: string; readonly requirement?: number })[];
  readonly entries?: Readonly<Record<string, Node>>;
  readonly item?: Node;
  readonly value?: Node;
  readonly options?: readonly string[];
  readonly wrapped?: Node;
  readonly default?: unknown;
}

function documentOf(node: Node | undefined): JsonSchema {
  return node ? { ...shapeOf(node), ...describing(node) } : {};
}

function shapeOf(node: Node): JsonSchema {
  switch (node.type) {
    case "string":
    case "boolean":
      return { type: node.type };
    case "number":
      return numberOf(node);
    case "picklist":
      return { type: "string", enum: node.options };
    case "array":
      return { type: "array", items: documentOf(node.item) };
    case "record":
      return { type: "object", additionalProperties: documentOf(node.value) };
    case "optional":
      return {
        ...documentOf(node.wrapped),
        ...(node.default === undefined ? {} : { default: node.default }),
      };
    case "object":
      return objectOf(node.entries ?? {});
    default:
      throw new TypeError(`No JSON Schema for a valibot ${node.type}`);
  }
}

function objectOf(entries: Readonly<Record<string, Node>>): JsonSchema {
  const names = Object.keys(entries);
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, documentOf(entries[name])])),
    required: names.filter((name) => entries[name]?.type !== "optional"),
  };
}

const BOUNDS: Readonly<Record<string, string>> = { min_value: "minimum", max_value: "maximum" };

function numberOf(node: Node): JsonSchema {
  const steps = node.pipe ?? [];
  const bounds = steps.flatMap((step) => (BOUNDS[step.type] ? [[BOUNDS[step.type], step.requirement]] : []));
  return { type: steps.some((step) => step.type === "integer") ? "integer" : "number", ...Object.fromEntries(bounds) };
}

function describing(node: Node): JsonSchema {
  const step = node.pipe?.find((candidate) => candidate.type === "description");
  return step ? { description: step.description } : {};
}
