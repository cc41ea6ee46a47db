import { expect, test } from "vitest";
import { pairedDifference } from "../bench/paired.mjs";

/** Thirty samples, spread widely and evenly, each with a partner that is so much larger, give or take a little. */
const pairs = (factor) => {
  const baseline = Array.from({ length: 30 }, (_, at) => 10 + ((at * 7) % 30));
  return { baseline, current: baseline.map((value, at) => value * factor * (1 + (((at * 11) % 30) - 14.5) / 1000)) };
};

test("the difference within the pairs is found, however far apart the pairs are", () => {
  const { baseline, current } = pairs(1.1);
  const { median, low, high } = pairedDifference(baseline, current);
  expect(median).toBeCloseTo(0.1, 2);
  expect(low).toBeGreaterThan(0.05);
  expect(high).toBeLessThan(0.15);
});

test("of equal builds the interval holds zero; where more is better, less is worse", () => {
  const same = pairs(1);
  const equal = pairedDifference(same.baseline, same.current);
  expect(equal.low).toBeLessThan(0);
  expect(equal.high).toBeGreaterThan(0);
  const fewer = pairs(0.8);
  expect(pairedDifference(fewer.baseline, fewer.current, { better: "higher" }).median).toBeCloseTo(0.25, 1);
  expect(pairedDifference(fewer.baseline, fewer.current).median).toBeCloseTo(-0.2, 2);
});

test("the ends of the interval are those of the sign test; one wild pair moves neither", () => {
  const one = Array.from({ length: 30 }, () => 1);
  const ratios = Array.from({ length: 30 }, (_, at) => 1 + at / 100);
  // The 10th and the 21st of 30 hold the median with 95.7 %, as tables say; the 11th and the 20th would with 90 %.
  const { low, high } = pairedDifference(one, ratios);
  expect([low, high].map((end) => end.toFixed(2))).toEqual(["0.09", "0.20"]);
  expect(pairedDifference(one, [...ratios.slice(0, 29), 1e6])).toMatchObject({ low, high });
});

test("five pairs are too few for an interval, six are enough", () => {
  const ratios = [1, 1.1, 1.2, 1.3, 1.4, 1.5];
  const of = (n) => pairedDifference(Array(n).fill(1), ratios.slice(0, n));
  expect(of(5)).toMatchObject({ low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY });
  expect(of(6).low).toBeCloseTo(0);
  expect(of(6).high).toBeCloseTo(0.5);
  expect(() => of(0)).toThrow("samples come in pairs");
});
