import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { commandWords } from "../src/rule.js";

test.each([
  ["git push origin main", ["git", "push", "origin", "main"]],
  ["  git \t push   origin main\n\n", ["git", "push", "origin", "main"]],
  [`git 'push' "origin" ma'i'n`, ["git", "push", "origin", "main"]],
  [`touch "a b"`, ["touch", "a b"]],
  [`echo '' "" x`, ["echo", "", "", "x"]],
  [`echo '$x' '*' '~' '#'`, ["echo", "$x", "*", "~", "#"]],
  ["make CC=gcc --jobs=4", ["make", "CC=gcc", "--jobs=4"]],
])("%j", (command, words) => {
  expect(commandWords(command)).toEqual(words);
});

describe("a line that is more than plain words gives null", () => {
  test.each([
    "",
    "  \n",
    "echo $x",
    'echo "$x"',
    "echo `x`",
    'echo "`x`"',
    "echo *",
    "echo a?",
    "echo [ab]",
    "echo ~",
    "echo a=~",
    "echo {a,b}",
    "echo a{1..3}",
    "echo a # b",
    "echo a;",
    "echo a &",
    "echo a | b",
    "echo a && b",
    "(echo a)",
    "echo a > b",
    "echo a 2>b",
    "echo <<x\na\nx",
    "echo a\necho b",
    "echo \\\na",
    "echo a\\",
    "echo a\\b",
    "echo a\\ b",
    "! echo a",
    "echo !!",
    "A=b echo a",
    "a=b",
    "time echo a",
    "if a",
    "'ls' a",
    "\\ls a",
    '"ls"',
    "l's' a",
    "echo =ls",
    "echo 'a",
    'echo "a',
    'echo "a\\$b"',
    "echo 'a\nb'",
    "echo a\rb",
    "echo a\u00a0b",
    "echo é",
    "echo a\0",
    `echo ${"a".repeat(20_000)}`,
  ])("%j", (command) => {
    expect(commandWords(command)).toBeNull();
  });
});

test("real shells find the same words in every line that has words", () => {
  const cwd = mkdtempSync(join(tmpdir(), "agent-words-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const lines = acceptedLines(3000);
  expect(lines.length).toBeGreaterThan(1000);
  const script = `w() { for each in "$@"; do printf '%s\\001' "$each"; done; printf '\\002'; }\n${lines
    .map(([line]) => `w ${line}\n`)
    .join("")}`;
  const found = ["bash", "dash", "sh"].map((shell) =>
    spawnSync(shell, ["-s"], { cwd, input: script, encoding: "utf8" }),
  );
  const ran = found.filter(({ error }) => error === undefined);
  expect(ran.length).toBeGreaterThan(0);
  for (const { stdout, stderr } of ran) {
    expect(stderr).toBe("");
    const words = stdout
      .split("\u0002")
      .slice(0, -1)
      .map((each) => each.split("\u0001").slice(0, -1));
    expect(words).toEqual(lines.map(([, each]) => each));
  }
});

/** Random lines of characters that shells interpret, with their words. */
function acceptedLines(count: number): [line: string, words: string[]][] {
  const parts = [
    "a",
    "b",
    "1",
    "-",
    "=",
    "/",
    ".",
    ":",
    "@",
    "%",
    "+",
    ",",
    " ",
    "  ",
    "\t",
    "\n",
    "'",
    '"',
    "\\",
    "$",
    "*",
    "?",
    "~",
    "#",
    "!",
    "&",
    "|",
    ";",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "`",
    "^",
    "é",
    "'x y'",
    '"x y"',
    "'$a'",
    "\\ ",
    "''",
    "do",
  ];
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  const found: [string, string[]][] = [];
  for (let tries = 0; found.length < count && tries < 200_000; tries += 1) {
    const line = `a ${Array.from({ length: 1 + random(7) }, () => parts[random(parts.length)]).join("")}`;
    const words = commandWords(line);
    if (words) found.push([line, words]);
  }
  return found;
}
