import { describe, expect, test } from "vitest";
import { type CustomCommand, parseCommand, renderCommand, splitArguments } from "../../src/commands.js";

const command = (body: string, ...args: string[]): CustomCommand => ({
  name: "c",
  description: "",
  args: args.map((name) => ({ name, description: "" })),
  body,
  source: "/c.md",
});

const render = (body: string, positional: string[] = [], named: Record<string, string> = {}, ...declared: string[]) =>
  renderCommand(command(body, ...declared), { positional, named: new Map(Object.entries(named)) });

describe("rendering", () => {
  test.each([
    ["Say $1 to $2.", ["hi", "you"], "Say hi to you."],
    ["all: $ARGUMENTS", ["a", "b c"], "all: a b c"],
    ["$12 and $1", Array.from({ length: 12 }, (_, i) => `v${i + 1}`), "v12 and v1"],
    ["$1 $2 $3", ["only"], "only $2 $3"],
    ["$10, $100 and $1", ["a"], "$10, $100 and a"],
    ["$01 $0", ["a"], "$01 $0"],
    ["cost: $5", [], "cost: $5"],
    ["no holes", ["x"], "no holes"],
    ["$ARGUMENTS", [], ""],
    ["$$1", ["x"], "$x"],
  ])("%j with %j", (body, args, expected) => {
    expect(render(body, args)).toBe(expected);
  });

  test.each([
    ["$target now", { target: "main" }, [], "main now"],
    ["$TARGET now", { target: "main" }, [], "main now"],
    ["$target2 $target", { target: "a", target2: "b" }, [], "b a"],
    ["$Name", { name: "x" }, ["Name"], "x"],
    ["$Name $naMe $NAME", { nAME: "x" }, [], "x x x"],
    ["$arguments", { other: "x" }, [], "$arguments"],
    ["$ 5$", { "": "x" }, [], "$ 5$"],
    ["$unfilled", {}, ["unfilled"], "$unfilled"],
  ])("%j with %j", (body, named, declared, expected) => {
    expect(render(body, [], named, ...declared)).toBe(expected);
  });

  test.each([
    ["$1 $2", ["$2", "secret"], "$2 secret"],
    ["$1", ["$ARGUMENTS $1 $HOME"], "$ARGUMENTS $1 $HOME"],
    ["$ARGUMENTS", ["$1", "$name"], "$1 $name"],
    ["$1", ["$& $` $' $$ $<x>"], "$& $` $' $$ $<x>"],
    ["run !`id` and @/etc/passwd with $1", ["!`id`"], "run !`id` and @/etc/passwd with !`id`"],
    ["$1", ["`; rm -rf / #"], "`; rm -rf / #"],
  ])("%j does not replace placeholders in the argument %j", (body, args, expected) => {
    expect(render(body, args, { name: "never" })).toBe(expected);
  });

  test.each(["$__proto__", "$constructor", "$toString", "$hasOwnProperty", "$CONSTRUCTOR $TOSTRING"])(
    "%s is text like any other",
    (body) => {
      expect(render(body)).toBe(body);
    },
  );

  test("names with characters of a regular expression are plain text", () => {
    expect(render("$a.b $a+ $axb", [], { "a.b": "dot", "a+": "plus" })).toBe("dot plus $axb");
  });

  test("a result of megabytes is refused before it is built", () => {
    expect(() => render("$1".repeat(4096), ["x".repeat(4096)])).toThrow(RangeError);
    expect(render("$1", ["x".repeat(4096)])).toHaveLength(4096);
  });
});

describe("the text after a command's name", () => {
  test.each([
    ["a b", ["a", "b"], {}],
    [`"a b" 'c d'`, ["a b", "c d"], {}],
    [`pre"fix ed"`, ["prefix ed"], {}],
    ["key=value rest", ["rest"], { key: "value" }],
    [`key="two words" k2='x=y'`, [], { key: "two words", k2: "x=y" }],
    ["1=2 =x", ["1=2", "=x"], {}],
    [`it's fine`, ["it", "s", "fine"], {}],
    ["", [], {}],
    ["  \t\n ", [], {}],
  ])("%j", (text, positional, named) => {
    const split = splitArguments(text);
    expect([split.positional, Object.fromEntries(split.named)]).toEqual([positional, named]);
  });

  test("a long unclosed quote is split quickly", () => {
    const started = performance.now();
    splitArguments(`"${"a ".repeat(50_000)}`);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

describe("a command file", () => {
  test("has front matter before its body", async () => {
    const text =
      "---\nname: deploy\ndescription: Ship $1\nargs:\n  - env\n  - name: tag\n    description: a tag\n---\n\nGo.\n\n";
    expect(await parseCommand(text, "/x/other.md")).toEqual({
      name: "deploy",
      description: "Ship $1",
      args: [
        { name: "env", description: "" },
        { name: "tag", description: "a tag" },
      ],
      body: "Go.",
      source: "/x/other.md",
    });
  });

  test.each([
    ["broken fields", "---\nname: [\n---\nbody", "---\nname: [\n---\nbody"],
    ["fields that never end", "---\nname: x\nbody", "---\nname: x\nbody"],
    ["fields that are a list", "---\n- a\n---\nbody", "---\n- a\n---\nbody"],
    ["a bomb of aliases", "---\na: &a [x]\nb: [*a, *a]\n---\nbody", "---\na: &a [x]\nb: [*a, *a]\n---\nbody"],
    ["no fields", "just a body", "just a body"],
    ["a byte order mark and CRLF", "\uFEFF---\r\ndescription: d\r\n---\r\nbody\r\n", "body"],
  ])("with %s", async (_, text, body) => {
    expect(await parseCommand(text, "/x/named.md")).toMatchObject({ name: "named", body });
  });

  test.each(["", "  \n\t\n", "\uFEFF"])("that is empty (%j) is not a command", async (text) => {
    expect(await parseCommand(text, "/x/e.md")).toBeNull();
  });

  test("with fields of the wrong type keeps the valid ones", async () => {
    const text = "---\nname: {a: 1}\ndescription: [x]\nargs: 7\n---\nbody";
    expect(await parseCommand(text, "/x/odd.md")).toMatchObject({
      name: "odd",
      description: "",
      args: [],
      body: "body",
    });
  });
});
