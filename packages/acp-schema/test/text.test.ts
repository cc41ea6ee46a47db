import { describe, expect, it } from "vitest";
import { endOf, startOf } from "../src/define/text.js";

describe("a text cut by length", () => {
  it("is never longer than requested, and never has half a character", () => {
    const text = "a😀b😀😀";
    for (let length = 0; length <= text.length + 1; length++) {
      for (const [part, rest] of [
        [startOf(text, length), text.startsWith(startOf(text, length))],
        [endOf(text, length), text.endsWith(endOf(text, length))],
      ] as const) {
        expect(rest, `${length}`).toBe(true);
        expect(part.length, `${length}`).toBeLessThanOrEqual(length);
        expect(part.length, `${length}`).toBeGreaterThanOrEqual(Math.min(length, text.length) - 1);
        expect(encodeURIComponent(part), `${length}`).toBeTypeOf("string");
      }
    }
    expect(startOf(text, 2)).toBe("a");
    // The given text may itself end with half a character.
    expect(startOf("a\ud83d", 2)).toBe("a");
    expect(endOf("\ude00b", 2)).toBe("b");
    expect(endOf(text, 3)).toBe("😀");
  });
});
