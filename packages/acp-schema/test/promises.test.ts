import { expect, test } from "vitest";
import { createLanes, withResolvers } from "../src/promises.js";

test("work of one lane runs in the order it came, also after a failure; another lane does not wait for it", async () => {
  const { inLane, settled } = createLanes();
  const gate = withResolvers();
  const log: string[] = [];
  const note = (name: string) => async () => void log.push(name);
  const failing = inLane("a", async () => {
    log.push("first");
    await gate.promise;
    throw new Error("broken");
  });
  const last = inLane("a", note("second"));
  expect(log).toEqual(["first"]);
  await inLane("b", note("other"));
  await settled("b");
  expect(log).toEqual(["first", "other"]);
  gate.resolve();
  await expect(failing).rejects.toThrow("broken");
  await last;
  expect(log).toEqual(["first", "other", "second"]);
});

test("what is asked for while a lane's last work ends comes after it", async () => {
  const { inLane, settled } = createLanes();
  const log: number[] = [];
  const work = (n: number) => async () => {
    await null;
    log.push(n);
    if (n < 5) void inLane("", work(n + 1));
  };
  void inLane("", work(0));
  void inLane("", work(10));
  for (let round = 0; round < 8; round++) await settled();
  expect(log).toEqual([0, 10, 1, 2, 3, 4, 5]);
});

test("lanes have settled when all work they have now is done, also by a failure", async () => {
  const { inLane, settled } = createLanes<number>();
  await settled();
  await settled(1);
  const gate = withResolvers<string>();
  let done = "";
  void inLane(1, async () => {
    done = await gate.promise;
  });
  inLane(2, () => Promise.reject(new Error("broken"))).catch(() => {});
  setImmediate(() => gate.resolve("now"));
  await settled();
  expect(done).toBe("now");
});
