import { expect, test } from "vitest";
import { killedRewind } from "../killed-rewind.js";

test.for(["undo", "redo"] as const)(
  "kill -9 at every call of the file system in an %s: files, log and visible conversation agree",
  async (direction) => {
    const { calls, killAt, endAt } = await killedRewind(direction);
    const ends = { done: 0, untouched: 0 };
    for (let call = 1; call <= calls.length; call += 1) {
      ends[(await killAt(call)) ? "done" : "untouched"] += 1;
      await endAt(call, call % 2 === 0 ? "delete" : "tearDown");
    }
    console.log(`kill at every call of an ${direction}: ${calls.length} of ${calls.length}; ${JSON.stringify(ends)}`);
    expect(ends.done).toBeGreaterThan(0);
    expect(ends.untouched).toBeGreaterThan(0);
  },
);
