// A vendor gets its replies back unchanged: whatever their parts are, through the log, and after a restart.
import type { Tool } from "@chimera/agent";
import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { vendors } from "../packages/agent/test/vendors/all.js";
import type { ModelReply, Said } from "../packages/agent/test/vendors/vendor.js";
import { openModelSession } from "./model-session.js";

const look: Tool = {
  name: "look",
  aliases: ["look_at"],
  description: "Looks.",
  input: v.looseObject({}),
  inputSchema: { type: "object" },
  kind: "read",
  parallel: true,
  describe: () => ({ title: "look", locations: [], touches: { reads: [], writes: [] } }),
  run: async (input) => ({ success: true, output: `seen ${JSON.stringify(input)}` }),
};

const words = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "\n\n",
    " ",
    "a\r\nb",
    "data: [DONE]\n\n",
    "\u2028 \ufeff",
    "🎉".repeat(20),
    '{"a":1}',
    "\\ud83d",
    "é̂",
  ),
);
const text = fc.oneof(
  { weight: 4, arbitrary: words.filter((said) => said !== "") },
  { weight: 1, arbitrary: fc.constant("x".repeat(9_000)) },
);
const args = fc.oneof(
  fc
    .dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
    .map((value) => JSON.parse(JSON.stringify(value))),
  // As models write them, and JSON.stringify does not.
  fc.constantFrom('{ "path" : "a.txt",\n  "n": 1.0 }', '{"path":"\\u0061"}', '{"n":12345678901234567890}'),
);
const said: fc.Arbitrary<Said> = fc.oneof(
  { weight: 3, arbitrary: fc.oneof(fc.constant(""), text).map((reasoning) => ({ reasoning })) },
  { weight: 1, arbitrary: fc.constant<Said>({ hidden: true }) },
  { weight: 3, arbitrary: text.map((one) => ({ text: one })) },
  { weight: 3, arbitrary: fc.record({ call: fc.constantFrom("look", "look_at", "LOOK"), args }) },
);
/** A step that calls, and one that ends a turn. */
const calling = fc
  .tuple(fc.array(said, { maxLength: 6 }), args, fc.array(said, { maxLength: 2 }))
  .map(([before, given, after]): ModelReply => ({ says: [...before, { call: "look", args: given }, ...after] }));
const ending = fc
  .array(said, { maxLength: 4 })
  .map((parts): ModelReply => ({ says: [...parts.filter((part) => !("call" in part)), { text: "Done." }] }));
const turns = fc.array(
  fc.tuple(fc.array(calling, { maxLength: 3 }), ending).map(([steps, last]) => [...steps, last]),
  { minLength: 2, maxLength: 3 },
);

const RUNS = Number(process.env["CHIMERA_ROUND_TRIPS"]) || 6;
const TIMEOUT_MS = Math.max(120_000, RUNS * 2_000);

describe.each(vendors)("$name", ({ create, env = {} }) => {
  test(
    `gets back what it sent, in ${RUNS} random conversations that are restarted after each turn`,
    async () => {
      await fc.assert(
        fc.asyncProperty(turns, async (script) => {
          const vendor = create();
          const session = await openModelSession({ vendor, env, replies: script.flat(), tools: [look] });
          try {
            for (const [turn] of script.entries()) {
              const records = await session.prompt(`prompt ${turn}`);
              expect(records.at(-1)).toMatchObject({ type: "agent_result", metadata: { success: true } });
            }
            const { running } = session;
            // Each process finds out for itself where a model wants to be asked.
            expect(running.refused.filter((words) => !/\/responses|think value/.test(words))).toEqual([]);
            const last = running.answered.at(-1)?.body;
            const back = vendor.repliesIn(last);
            expect(back).toEqual(vendor.sent.slice(0, back.length));
            expect(running.left()).toBe(0);
            checkPrefixes(running.answered.map(({ body }) => vendor.repliesIn(body)));
          } finally {
            await session.close();
          }
        }),
        { numRuns: RUNS, endOnFailure: true },
      );
    },
    TIMEOUT_MS,
  );
});

/** No request tells an earlier reply otherwise than the one before it did. */
function checkPrefixes(requests: readonly unknown[][]): void {
  for (const [at, replies] of requests.entries()) {
    const before = requests[at - 1] ?? [];
    expect(JSON.stringify(replies.slice(0, before.length))).toBe(JSON.stringify(before));
  }
}
