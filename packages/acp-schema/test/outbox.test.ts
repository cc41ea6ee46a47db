import { expect, test } from "vitest";
import { createOutbox } from "../src/outbox.js";

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) taken.push(item);
  return taken;
}

test("yields the pushed items in order, and starts the producer with the first next()", async () => {
  let started = false;
  const items = createOutbox<number>(
    async ({ push }) => {
      started = true;
      push(1);
      push(2);
      await Promise.resolve();
      push(3);
    },
    () => {},
  );
  expect(started).toBe(false);
  expect(await all(items)).toEqual([1, 2, 3]);
});

test("a producer can wait until all items are taken", async () => {
  const seen: string[] = [];
  const items = createOutbox<string>(
    async (outbox) => {
      outbox.push("a");
      outbox.push("b");
      expect(outbox.pending).toBe(2);
      await outbox.taken();
      seen.push("taken");
      expect(outbox.pending).toBe(0);
    },
    () => {},
  );
  for await (const item of items) seen.push(item);
  expect(seen).toEqual(["a", "b", "taken"]);
});

test("an error of the producer comes after the items pushed before it", async () => {
  const taken: number[] = [];
  const items = createOutbox<number>(
    async ({ push }) => {
      push(1);
      push(2);
      throw new Error("broken");
    },
    () => {},
  );
  const reading = (async () => {
    for await (const item of items) taken.push(item);
  })();
  await expect(reading).rejects.toThrow("broken");
  expect(taken).toEqual([1, 2]);
});

test("a consumer that leaves is reported, and the producer does not wait for it", async () => {
  let left = 0;
  let ended: (() => void) | undefined;
  const over = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const items = createOutbox<number>(
    async (outbox) => {
      outbox.push(1);
      outbox.push(2);
      await outbox.taken();
      outbox.push(3);
      await outbox.taken();
      ended?.();
    },
    () => {
      left++;
    },
  );
  for await (const item of items) {
    expect(item).toBe(1);
    break;
  }
  await over;
  expect(left).toBe(1);
});
