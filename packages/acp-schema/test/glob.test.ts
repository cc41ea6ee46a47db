import { expect, test } from "vitest";
import { compileGlob, createMeter } from "../src/define/glob.js";

test.each<["rule" | "path", string, string, boolean]>([
  ["rule", "*", "", true],
  ["rule", "a*c", "abc/c", true],
  ["rule", "a*c", "abd", false],
  ["rule", "?at", "cat", true],
  ["rule", "[a-c]x", "bx", true],
  ["rule", "[!a-c]x", "bx", false],
  ["rule", "[", "[", true],
  ["rule", "a.b", "axb", false],
  ["rule", "", "", true],
  ["rule", "ab", "abc", false],
  ["path", "*.ts", "a/b.ts", false],
  ["path", "**/*.ts", "b.ts", true],
  ["path", "**/*.ts", "a/c/b.ts", true],
  ["path", "src/**/x", "src/x", true],
  ["path", "src/**/x", "src/a/b/x", true],
  ["path", "src/**/x", "srcx", false],
  ["path", "src/**", "src/a/b", true],
  ["path", "a/**/b/**/c", "a/b/c", true],
  ["path", "{a,b}/{c,d}", "b/c", true],
  ["path", "{a,b}/{c,d}", "b/e", false],
  ["path", "?", "/", false],
  ["path", "é?", "é😀", true],
])("%s glob %j on %j: %s", (flavour, pattern, text, expected) => {
  expect(compileGlob(pattern, flavour)(text)).toBe(expected);
});

test("a hostile pattern ends after a number of steps", () => {
  const hostile = compileGlob("*a".repeat(400), "rule");
  expect(hostile(`${"a".repeat(1000)}b`)).toBe(false);
  expect(hostile(`${"a".repeat(5000)}b`)).toBeNull();
  expect(compileGlob("**/".repeat(200), "path")("a/".repeat(2000).concat("b"))).toBe(false);
  expect(compileGlob(`{${"*a,".repeat(60)}*b}${"*a".repeat(400)}`, "path")("a".repeat(250))).toBeNull();
});

test("matches that share a meter share its steps", () => {
  const meter = createMeter();
  const hostile = compileGlob("*a".repeat(400), "rule");
  const answers = Array.from({ length: 20 }, () => hostile(`${"a".repeat(1000)}b`, meter));
  expect(answers[0]).toBe(false);
  expect(answers.at(-1)).toBeNull();
  expect(compileGlob("a", "rule", meter)("a")).toBeNull();
});
