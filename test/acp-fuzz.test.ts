// A short run of random calls; `npm run test:clients` makes a long one.
import { expect, test } from "vitest";
import { fuzz } from "./clients/fuzz.js";
import { childrenOf } from "./clients/processes.js";

test("random calls are each answered once, the program lives and leaves nothing behind", async () => {
  const report = await fuzz({ calls: 600, seed: 20261116, children: childrenOf });
  expect(report.answeredOnce).toBe(report.sent);
  expect(report.strays).toEqual([]);
  expect(report.problems).toEqual([]);
  expect(report.children).toEqual([]);
  expect(report.exitCode, report.stderr).toBe(0);
}, 60_000);
