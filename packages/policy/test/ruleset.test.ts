import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadRuleset, parseRuleset } from "../src/index.js";
import { bench } from "./call.js";

describe("permissions.json", () => {
  test("bad rules are reported and left out, and the others apply", () => {
    const { rules, problems } = parseRuleset(
      JSON.stringify({
        default: "maybe",
        rules: [
          { tool: "Bash", action: "Confirm", description: "always ask" },
          { tool: "Bash", action: "perhaps" },
          "text",
          { action: "allow" },
          { tool: "Read", action: "allow", arg_pattern: "*" },
          { tool: "Read", action: "allow", arg_key: 5 },
          { tool: "Read", action: "__proto__" },
          { tool: "Edit", action: "block", arg_key: "path", arg_pattern: "*.lock" },
        ],
      }),
      "permissions.json",
    );
    expect(rules.map(({ tool, action, source }) => [tool, action, source])).toEqual([
      ["Bash", "ask", "permissions.json rule 0"],
      ["Edit", "deny", "permissions.json rule 7"],
    ]);
    expect(problems).toHaveLength(7);
    expect(problems[1]).toBe('permissions.json: rule 1 has the unknown action "perhaps": allow, deny or ask');
  });

  test.each(["", "[]", "null", "{", '{"rules":{}}', '"text"'])("the file %j is reported and empty", (text) => {
    expect(parseRuleset(text, "f")).toMatchObject({ rules: [], problems: [expect.stringContaining("f: ")] });
  });

  test("a missing file has no rules; an existing one is read completely", async () => {
    const { cwd } = await bench();
    const file = join(cwd, "permissions.json");
    expect(await loadRuleset(file)).toEqual({ rules: [], problems: [] });
    const rule = { tool: "B*", action: "permit", arg_key: "path", arg_pattern: "x", description: "d" };
    await writeFile(file, JSON.stringify({ version: 1, default: "ask", rules: [rule] }));
    expect(await loadRuleset(file)).toEqual({
      rules: [
        { tool: "B*", action: "allow", argKey: "path", argPattern: "x", description: "d", source: `${file} rule 0` },
      ],
      default: "ask",
      problems: [],
    });
  });
});
