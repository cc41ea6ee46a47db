import { describe, expect, test } from "vitest";
import { killedRewind } from "./killed-rewind.js";

const onDisk = { tags: ["needs-files"], timeout: 60_000 };

describe.for(["undo", "redo"] as const)("an %s", (direction) => {
  test("that is killed between the files and the record is taken back, and can be repeated", onDisk, async () => {
    const { calls, killAt } = await killedRewind(direction);
    const record = calls.findIndex((call) => call.includes("/eventlog/"));
    expect(calls.slice(0, record).findLast((call) => call.startsWith("renameSync"))).toMatch(/\.txt$/);
    expect(await killAt(record + 1)).toBe(false);
  });

  test("that is killed after its record stands, and can be reversed", onDisk, async () => {
    const { calls, killAt } = await killedRewind(direction);
    const removed = calls.findLastIndex((call) => /^(unlink|rm)Sync .*restore\.json$/.test(call));
    expect(await killAt(removed + 1)).toBe(true);
  });

  test("leaves files, log and visible conversation that agree, at whichever call it is killed", onDisk, async () => {
    const { calls, killAt } = await killedRewind(direction);
    for (let call = 5; call <= calls.length; call += 29) await killAt(call);
  });

  test.for(["delete", "tearDown"] as const)(
    "leaves files as the log says, at whichever call it is killed before %s",
    onDisk,
    async (how) => {
      const { calls, endAt } = await killedRewind(direction);
      for (let call = 12; call <= calls.length; call += 29) await endAt(call, how);
    },
  );
});

test("undo of one turn among 100 makes as many file-system calls as among 2", onDisk, async () => {
  const [few, many] = [await killedRewind("undo"), await killedRewind("undo", { earlier: 98 })];
  expect(few.calls.length).toBeGreaterThan(100);
  expect(many.calls.length).toBeLessThan(few.calls.length * 1.3);
});
