import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { backoff, requireDelay, startDeadline, startTimer } from "../src/timer.js";

const DAY_MS = 24 * 3600 * 1000;

describe("a timer", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test.each([1, 2 ** 31 - 1, 2 ** 31, 30 * DAY_MS, 365 * DAY_MS])("of %d ms fires once, at that time", (ms) => {
    let fired = 0;
    startTimer(ms, () => fired++);
    vi.advanceTimersByTime(ms - 1);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(1);
    vi.advanceTimersByTime(ms + 1);
    expect(fired).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("without an end never fires", () => {
    let fired = 0;
    startTimer(Number.POSITIVE_INFINITY, () => fired++);
    vi.advanceTimersByTime(1000 * DAY_MS);
    expect(fired).toBe(0);
  });

  test("that is stopped, in its first platform timer or a later one, never fires", () => {
    const fired: string[] = [];
    const first = startTimer(60 * DAY_MS, () => fired.push("first"));
    const later = startTimer(60 * DAY_MS, () => fired.push("later"));
    first.stop();
    vi.advanceTimersByTime(40 * DAY_MS);
    later.stop();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(60 * DAY_MS);
    expect(fired).toEqual([]);
  });
});

test.each([0, 0.5, Number.MAX_VALUE])("%d is a delay", (value) => {
  expect(requireDelay("patience", value)).toBe(value);
});

test.each([-1, Number.NaN, Number.NEGATIVE_INFINITY, "5", true, null, undefined, 5n, {}])(
  "%s is not a delay",
  (value) => {
    expect(() => requireDelay("patience", value)).toThrow(/^patience takes a finite number of at least 0, not ./);
    expect(() => startTimer(value as number, () => {})).toThrow(RangeError);
  },
);

test("Infinity is not a delay either", () => {
  expect(() => requireDelay("patience", Number.POSITIVE_INFINITY)).toThrow(RangeError);
});

test("the pause between attempts doubles up to the longest; chance takes at most half of it away", () => {
  const pauses = [0, 1, 2, 3, 4, 2000].map((failures) => backoff(failures, 50, 700));
  expect(pauses).toEqual([50, 100, 200, 400, 700, 700]);
  expect([backoff(1, 50, 700, 0), backoff(1, 50, 700, 0.5), backoff(9, 50, 700, 0)]).toEqual([50, 75, 350]);
});

test("a deadline aborts after its time, or with the other signal and its reason, and not after its end", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const late = startDeadline(100);
  const outer = new AbortController();
  const [left, ended] = [startDeadline(100, outer.signal), startDeadline(100, outer.signal)];
  ended.end();
  outer.abort("left");
  expect(left.signal.reason).toBe("left");
  expect(startDeadline(100, outer.signal).signal.reason).toBe("left");
  vi.advanceTimersByTime(100);
  expect(late.signal.reason).toMatchObject({ name: "TimeoutError" });
  expect(left.signal.reason).toBe("left");
  expect(ended.signal.aborted).toBe(false);
});
