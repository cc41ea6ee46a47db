import { expect, test } from "vitest";
import { parseFrontMatter } from "../src/front-matter.js";

test.each([
  ["no head", "# Title\n---\nmore\n", {}, "# Title\n---\nmore\n"],
  ["a head", "---\nname: a\n---\nbody\n", { name: "a" }, "body\n"],
  [
    "a head of Windows, with a mark and blanks after the dashes",
    "\ufeff--- \r\nname: a\r\n---\t\r\nb\r\n",
    { name: "a" },
    "b\n",
  ],
  ["an empty head", "---\n---\nbody", {}, "body"],
  [
    "a head that holds a longer line of dashes",
    "---\nname: |\n  x\n----: 1\n---\nbody",
    { name: "x\n", "----": 1 },
    "body",
  ],
  ["a head without an end", "---\nname: a\nbody", {}, "---\nname: a\nbody"],
])("%s", async (_what, text, head, body) => {
  expect(await parseFrontMatter(text)).toEqual({ head, body, problem: null });
});

test.each([
  ["that is not a map", "---\n- a\n---\nbody", "it is not a map"],
  ["that is not YAML, at its line", "---\nname: a\nb: [\n---\nbody", expect.stringMatching(/\(line 4\)$/)],
  ["that is too long", `---\nname: ${"a".repeat(9000)}\n---\nbody`, "it has more than 8192 characters"],
])("a head %s is a problem, and the text is all body", async (_what, text, problem) => {
  expect(await parseFrontMatter(text)).toEqual({ head: {}, body: text, problem });
});

test("dashes without an end take linear time", async () => {
  const started = performance.now();
  for (const line of ["--- ", "---", "\n---x", "--- \t"])
    await parseFrontMatter(`---\n${`${line}x\n`.repeat(200_000)}`);
  expect(performance.now() - started).toBeLessThan(2000);
});
