/** Limits if several processes share a store. */
import { expect, test } from "vitest";
import { createQuota, type QuotaDeps } from "../src/quota.js";

const NOON = Date.UTC(2026, 3, 25, 12);

interface Loaded {
  readonly id: string;
  readonly owner: string;
  readonly isLetGo: boolean;
}

const loadedHere = (id: string, isLetGo = false): Loaded => ({ id, owner: "ann", isLetGo });

function open(limits: object, more: Partial<QuotaDeps> = {}, loaded: Loaded[] = []) {
  return createQuota(
    { each: limits },
    {
      loaded: () => loaded.map((one) => ({ ...one, state: "idle", queued: 0 })) as never,
      clock: () => NOON,
      diskBytes: async () => 0,
      stored: async () => [],
      async *spentSince() {},
      elsewhere: async () => [],
      ...more,
    },
  );
}

test("a session that was let go here counts in the process that has it now", async () => {
  const loaded = [loadedHere("a", true), loadedHere("b")];
  const quota = open({ sessions: 3 }, { elsewhere: async () => [["ann", 1]] }, loaded);
  await quota.ready();
  expect(quota.use("ann").sessions).toBe(2);
});

test("a first count that failed is made again", async () => {
  let isAway = true;
  const quota = open(
    { diskBytes: 10 },
    {
      stored: async () => {
        if (isAway) throw new Error("the database does not answer");
        return [];
      },
    },
  );
  await expect(quota.ready()).rejects.toThrow("does not answer");
  isAway = false;
  await quota.ready();
});

test("a session is measured again after a measurement that failed", async () => {
  const answers = [Promise.reject(new Error("the database does not answer")), Promise.resolve(7)];
  const quota = open({ diskBytes: 10 }, { diskBytes: () => answers.shift()! });
  const session = { id: "a", owner: "ann" };
  await expect(quota.measure(session)).rejects.toThrow("does not answer");
  await quota.measure(session);
  expect(quota.use("ann").diskBytes).toBe(7);
});

test("dollars of a session count once, however old its summary is", async () => {
  let listed = 4;
  const quota = open(
    { usdPerDay: 10 },
    {
      async *spentSince(_since, isKnown) {
        yield { id: "a", owner: "ann", usd: listed, since: isKnown("a") ? null : 0 };
      },
    },
  );
  await quota.ready();
  quota.spent("ann", "a", 5);
  listed = 4.5;
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await quota.ready();
  quota.spent("ann", "a", 5.5);
  expect(quota.use("ann").usdPerDay).toBeCloseTo(1.5);
});

test("a session that is made while dollars are counted keeps its count", async () => {
  const loaded: Loaded[] = [];
  const quota = open(
    { usdPerDay: 10 },
    {
      async *spentSince() {
        loaded.push(loadedHere("new"));
        quota.spent("ann", "new", 0);
        yield* [];
      },
    },
    loaded,
  );
  await quota.ready();
  quota.spent("ann", "new", 2);
  expect(quota.use("ann").usdPerDay).toBe(2);
});
