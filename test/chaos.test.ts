/** A minute of a bad day; `npm run test:chaos` is an hour of it. */
import { expect, test } from "vitest";
import { runTrouble } from "./scratch.js";

test("a minute of kills, freezes, cut links and set clocks loses nothing that was acknowledged", {
  tags: ["needs-linux"],
  timeout: 180_000,
}, async () => {
  expect(await runTrouble("chaos/chaos.mjs", "--minutes", "0.9", "--people", "4")).toEqual({
    code: 0,
    said: expect.stringContaining("passed"),
  });
});
