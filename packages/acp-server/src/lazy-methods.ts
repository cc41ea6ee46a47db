/**
 * A table whose rows are known by name now and loaded when the first of them is called. Schemas and handlers are most of a
 * dialect's weight, and `initialize` needs none of them.
 */
import type { MethodRow, Methods, StandardSchema } from "@chimera/ndjson-rpc";

export function lazyMethods(names: readonly string[], load: () => Promise<Methods>): Methods {
  let loaded: Promise<Methods> | undefined;
  const rowOf = async (name: string): Promise<MethodRow> => {
    loaded ??= load().then((rows) => sameNames(names, rows));
    return (await loaded)[name]!;
  };
  const rows = names.map((name): [string, MethodRow] => {
    const params: StandardSchema = {
      "~standard": {
        version: 1,
        vendor: "chimera",
        validate: async (value) => (await rowOf(name)).params?.["~standard"].validate(value) ?? { value },
      },
    };
    return [name, { params, handle: async (given, context) => (await rowOf(name)).handle?.(given as never, context) }];
  });
  return Object.fromEntries(rows);
}

// --- internal ---

/** A row whose name is not listed could never be called, and nobody would notice. */
function sameNames(names: readonly string[], rows: Methods): Methods {
  const missing = names.filter((name) => !Object.hasOwn(rows, name));
  const unlisted = Object.keys(rows).filter((name) => !names.includes(name));
  const odd = [...missing, ...unlisted];
  if (odd.length > 0) throw new Error(`the list of methods and their rows disagree on ${odd.join(", ")}`);
  return rows;
}
