import { expect, test } from "vitest";
import { killedUndo } from "./killed-undo.js";

test("an undo killed between the files and the record did not happen, and can be done again", {
  tags: ["needs-files"],
}, async () => {
  const { calls, killAt } = await killedUndo();
  const record = calls.findIndex((call) => call.includes("/eventlog/"));
  expect(calls.slice(0, record).findLast((call) => call.startsWith("renameSync"))).toMatch(/kept\.txt$/);
  expect(await killAt(record + 1)).toBe(false);
});

test("an undo killed between the record and its end happened, and can be redone", {
  tags: ["needs-files"],
}, async () => {
  const { calls, killAt } = await killedUndo();
  const removed = calls.findLastIndex((call) => /^(unlink|rm)Sync .*restore\.json$/.test(call));
  expect(await killAt(removed + 1)).toBe(true);
});

test("files, log and visible conversation agree wherever an undo is killed", {
  tags: ["needs-files"],
  timeout: 60_000,
}, async () => {
  const { calls, killAt } = await killedUndo();
  for (let call = 5; call <= calls.length; call += 29) await killAt(call);
});

test("undo of one turn among 100 costs as much as among 2, in calls of the file system", {
  tags: ["needs-files"],
  timeout: 60_000,
}, async () => {
  const [few, many] = [await killedUndo(), await killedUndo({ earlier: 98 })];
  expect(few.calls.length).toBeGreaterThan(100);
  expect(many.calls.length).toBeLessThan(few.calls.length * 1.3);
});
