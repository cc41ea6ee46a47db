import { expect, test } from "vitest";
import { killedUndo } from "../killed-undo.js";

test("kill -9 at every call of the file system in an undo: files, log and visible conversation agree", async () => {
  const { calls, killAt } = await killedUndo();
  const ends = { undone: 0, untouched: 0 };
  for (let call = 1; call <= calls.length; call += 1) ends[(await killAt(call)) ? "undone" : "untouched"] += 1;
  console.log(`kill at every call of an undo: ${calls.length} of ${calls.length}; ${JSON.stringify(ends)}`);
  expect(ends.undone).toBeGreaterThan(0);
  expect(ends.untouched).toBeGreaterThan(0);
});
