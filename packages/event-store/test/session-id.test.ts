import { describe, expect, it } from "vitest";
import { isSessionId, makeSessionId, sessionPrefix, sessionTime } from "../src/index.js";

const noon = Date.UTC(2026, 3, 25, 12, 3, 0, 999);

describe("session ids", () => {
  it("carry the prefix, the time in UTC and eight hex digits", () => {
    expect(makeSessionId("otter", noon, "aaaa1111")).toBe("otter-20260425T120300-aaaa1111");
    expect(makeSessionId("ferret", new Date(noon))).toMatch(/^ferret-20260425T120300-[0-9a-f]{8}$/);
  });

  it("sort in the order they were made, within a second too", () => {
    const times = Array.from({ length: 100 }, (_, n) => noon - 999 + n * 10);
    for (let round = 0; round < 20; round++) {
      const ids = times.map((time) => makeSessionId("otter", time));
      expect([...ids].sort()).toEqual(ids);
    }
  });

  it("can be split into their prefix and time", () => {
    const id = makeSessionId("otter", noon, "00000000");
    expect(sessionPrefix(id)).toBe("otter");
    expect(sessionTime(id)).toBe(Date.UTC(2026, 3, 25, 12, 3, 0));
    expect(sessionTime("my-run")).toBeNaN();
  });

  it("are not made from an invalid prefix or time", () => {
    for (const bad of ["../x", "Otter", "", "a/b"]) expect(() => makeSessionId(bad, noon)).toThrow(/session id/);
    for (const random of ["xyz", "AAAA1111", "123456789"]) expect(() => makeSessionId("otter", noon, random)).toThrow();
  });

  it.each([
    ["otter-20260425T120300-aaaa1111", true],
    ["otter-20261425T120300-aaaa1111", false],
    ["otter-20260425T120300-aaaa111", false],
    ["otter-20260425T120300-aaaa1111/..", false],
    ["OTTER-20260425T120300-aaaa1111", false],
    [42, false],
    [null, false],
  ])("isSessionId(%j) is %j", (value, expected) => {
    expect(isSessionId(value)).toBe(expected);
  });
});
