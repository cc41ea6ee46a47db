import { describe, expect, it } from "vitest";
import { PAST_THE_END, parseCursor } from "../src/index.js";

const cases: [name: string, input: string | number | null | undefined, cursor: number][] = [
  ["absent", undefined, 0],
  ["null", null, 0],
  ["empty", "", 0],
  ["blank", "  \t", 0],
  ["zero", "0", 0],
  ["a number", "42", 42],
  ["leading zeros", "0042", 42],
  ["space around", " 42\t", 42],
  ["negative", "-1", 0],
  ["signed", "+42", 0],
  ["exponent", "1e2", 0],
  ["hexadecimal", "0x10", 0],
  ["fraction", "4.2", 0],
  ["separators", "1_000", 0],
  ["digits of another script", "４２", 0],
  ["a word", "undefined", 0],
  ["a NUL after it", "42\u0000", 0],
  ["two numbers", "4, 2", 0],
  ["a line feed after it", "42\n", 0],
  ["2^53", "9007199254740992", PAST_THE_END],
  ["2^64 and more", "184467440737095516160", PAST_THE_END],
  ["a thousand digits", "9".repeat(1000), PAST_THE_END],
  ["number", 7, 7],
  ["negative number", -7, 0],
  ["fractional number", 7.5, 0],
  ["not a number", Number.NaN, 0],
  ["infinity", Number.POSITIVE_INFINITY, 0],
  ["huge number", 1e300, PAST_THE_END],
];

describe("parseCursor", () => {
  it.each(cases)("%s", (_name, input, cursor) => {
    expect(parseCursor(input)).toBe(cursor);
  });
});
