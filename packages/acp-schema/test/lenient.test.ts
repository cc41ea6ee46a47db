import { expect, test } from "vitest";
import { isJsonObject, orElse, parseJson } from "../src/define/lenient.js";

test("what a call throws is replaced, what it returns is not", () => {
  const fail = (): number => {
    throw new Error("broken");
  };
  expect(orElse(fail, 7)).toBe(7);
  expect(orElse(() => undefined, 7)).toBe(undefined);
});

test("a text that is not JSON says nothing", () => {
  expect(["null", '{"a":1}', "", "{", "1 2"].map(parseJson)).toEqual([null, { a: 1 }, undefined, undefined, undefined]);
});

test("neither a list nor null is an object of JSON", () => {
  expect([{}, Object.create(null), [], null, "{}", 1, undefined].map(isJsonObject)).toEqual([
    true,
    true,
    ...Array(5).fill(false),
  ]);
});
