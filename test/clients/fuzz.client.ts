// Ten thousand random calls on eight sessions.
import { expect, test } from "vitest";
import { fuzz } from "./fuzz.js";
import { childrenOf } from "./processes.js";

test.each([1, 2])("10,000 random calls from seed %i", async (seed) => {
  const report = await fuzz({ calls: 10_000, seed, children: childrenOf });
  console.log(`answers by error code: ${JSON.stringify(Object.fromEntries(report.codes))}`);
  expect(report.answeredOnce).toBe(report.sent);
  expect(report.strays).toEqual([]);
  expect(report.problems).toEqual([]);
  expect(report.children).toEqual([]);
  expect(report.exitCode, report.stderr).toBe(0);
});
