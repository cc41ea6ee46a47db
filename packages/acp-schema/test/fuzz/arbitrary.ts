/** Generates valid and invalid values from a model. */
import * as fc from "fast-check";
import type { Model } from "../model/model.js";

/** Values that the model accepts. */
export function accepted(model: Model): fc.Arbitrary<unknown> {
  switch (model.kind) {
    case "any":
      return fc.constantFrom(...junk);
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "string":
      return model.note === "uri" ? fc.constantFrom(...urls) : fc.constantFrom("a", "text", "/tmp/x", "ä 🦦", "object");
    case "number":
      return fc.constantFrom(0, 1.5, -2, 1e300);
    case "integer": {
      const edges = [0, 1, 7, model.min ?? -9, model.max ?? 2 ** 53];
      return fc.constantFrom(...edges);
    }
    case "const":
      return fc.constant(model.value);
    case "array":
      return fc.array(accepted(model.items), { maxLength: 3 });
    case "record":
      return fc.dictionary(fc.constantFrom("a", "b.c", "x y"), accepted(model.values), { maxKeys: 2 });
    case "union":
      return fc.oneof(...model.options.map(accepted));
    case "object":
      return fc.record(
        Object.fromEntries(Object.entries(model.entries).map(([key, entry]) => [key, accepted(entry.model)])),
        { requiredKeys: Object.keys(model.entries).filter((key) => model.entries[key]?.required) },
      );
  }
}

/** Accepted values with up to `most` changes anywhere inside. */
export function bent(model: Model, most: number): fc.Arbitrary<unknown> {
  const change = fc.record({
    where: fc.nat(),
    how: fc.constantFrom(...changes),
    what: fc.constantFrom(...junk, ...urls),
  });
  return fc
    .tuple(accepted(model), fc.array(change, { maxLength: most }))
    .map(([value, steps]) =>
      steps.reduce((current, { where, how, what }) => how(current, where, what), structuredClone(value)),
    );
}

// --- internal ---

const junk: unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  65_536,
  4_294_967_296,
  -2_147_483_649,
  "",
  "text",
  "select",
  "idle",
  [],
  [null],
  ["a", 1],
  {},
  { type: "text", text: "t" },
  { type: "text" },
  { name: "n", value: 1 },
];
const urls = ["https://example.com/a?b#c", "mailto:a@example.com", "no url", "http://"];

type Change = (value: unknown, where: number, what: unknown) => unknown;

/** All containers in a value, outermost first. */
function containers(value: unknown): (Record<string, unknown> | unknown[])[] {
  if (typeof value !== "object" || value === null) return [];
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(containers)];
}

function inside(
  value: unknown,
  where: number,
  act: (container: Record<string, unknown>, key: string) => void,
): unknown {
  const all = containers(value);
  const container = all[where % (all.length || 1)] as Record<string, unknown> | undefined;
  const keys = container ? Object.keys(container) : [];
  const key = keys[where % (keys.length || 1)];
  if (container && key !== undefined) act(container, key);
  return value;
}

const changes: Change[] = [
  (_, __, what) => structuredClone(what),
  ...Array<Change>(4).fill((value, where, what) =>
    inside(value, where, (container, key) => {
      container[key] = structuredClone(what);
    }),
  ),
  ...Array<Change>(2).fill((value, where) =>
    inside(value, where, (container, key) => {
      if (Array.isArray(container)) container.pop();
      else delete container[key];
    }),
  ),
  (value, where, what) =>
    inside(value, where, (container) => {
      if (Array.isArray(container)) container.push(structuredClone(what));
      else container["stranger"] = structuredClone(what);
    }),
];
