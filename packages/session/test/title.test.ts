// A session's title is made from its first answer.
import { expect, test } from "vitest";
import { titleFrom } from "../src/index.js";

test.each([
  ["# Hello **there**", "Hello there"],
  ["\n\n```ts\nlet snake_case = 1;\n```", "let snake_case = 1;"],
  ["See [the docs](https://example.com) of `my_file.ts`, ~~please~~.", "See the docs of my_file.ts, please."],
  ["1. First\n2. Second", "First"],
  ["---\n> - _quoted_ words\tand more", "quoted words and more"],
  ["<details><summary>Plan</summary>", "Plan"],
  ["👍", "👍"],
  ["```\n```\n---\n", null],
])("of %j is %j", (answer, title) => expect(titleFrom(answer)).toBe(title));

test("a title is cut at a word and stays one line", () => {
  const title = titleFrom(`${"several words ".repeat(20)}\nmore`)!;
  expect(title).toMatch(/^(several words )*(several|several words)…$/);
  expect(title.length).toBeLessThanOrEqual(61);
});
