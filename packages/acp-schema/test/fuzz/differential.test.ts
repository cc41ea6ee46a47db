/** Compares our result for thousands of valid and invalid values with ajv on the official schema and with the SDK's own reader. */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import * as stable from "../../src/index.js";
import { formats } from "../../src/oracle.js";
import * as unstable from "../../src/unstable/index.js";
import { schemasOf } from "../drift.js";
import { canonical } from "../model/model.js";
import { isEnvelope, officialModel, readOfficial } from "../model/official.js";
import { bent } from "./arbitrary.js";

interface Reader {
  safeParse(value: unknown): { success: boolean; data?: unknown };
}

const sdk = createRequire(import.meta.url).resolve("@agentclientprotocol/sdk/schema/v1/schema.json");
const readersOf = (path: string): Promise<Record<string, Reader>> =>
  import(new URL(`../../dist/v1/${path}/zod.gen.js`, pathToFileURL(sdk)).href);

const suites = [
  ["stable", "schema.json", schemasOf(stable), await readersOf("schema")],
  ["unstable", "schema.unstable.json", schemasOf({ ...stable, ...unstable }), await readersOf("unstable/schema")],
] as const;

describe.each(suites)("%s", (_, file, schemas, readers) => {
  const official = readOfficial(file);
  const names = Object.keys(official.$defs).filter((name) => !isEnvelope(name));
  const samples = { numRuns: 60, seed: 20_261_116 };

  test("writing agrees with ajv on the official schema", () => {
    const ajv = new Ajv2020({ strict: false, formats });
    ajv.addSchema({ $id: "acp", $defs: official.$defs });
    for (const name of names) {
      const validate = ajv.compile({ $ref: `acp#/$defs/${name}` });
      const writing = stable.strict(schemas[name] as v.GenericSchema);
      fc.assert(
        fc.property(bent(officialModel(official, name), 2), (value) => {
          expect({ name, value, valid: v.is(writing, value) }).toEqual({ name, value, valid: validate(value) });
        }),
        samples,
      );
    }
  });

  test("reading agrees with the SDK on validity and on the result", () => {
    for (const name of names) {
      const reader = readers[`z${name}`] as Reader;
      const schema = schemas[name] as v.GenericSchema;
      fc.assert(
        fc.property(bent(officialModel(official, name), 3), (value) => {
          const theirs = reader.safeParse(structuredClone(value));
          const ours = v.safeParse(schema, value);
          expect({ name, value, read: ours.success }).toEqual({ name, value, read: theirs.success });
          if (ours.success) {
            expect({ name, value, read: canonical(ours.output) }).toEqual({
              name,
              value,
              read: canonical(theirs.data),
            });
          }
        }),
        samples,
      );
    }
  });
});

test("a planted fault is found", () => {
  const official = readOfficial("schema.json");
  const faulty = v.object({ ...stable.PromptResponse.entries, stopReason: v.picklist(["end_turn", "cancelled"]) });
  const sound = stable.strict(stable.PromptResponse);
  const disagreement = fc.check(
    fc.property(
      bent(officialModel(official, "PromptResponse"), 2),
      (value) => v.is(faulty, value) === v.is(sound, value),
    ),
    { numRuns: 60, seed: 20_261_116 },
  );
  expect(disagreement.failed).toBe(true);
});
