import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { TurnSettings } from "@chimera/acp-schema/agent";
import { describe, expect, test } from "vitest";
import { type AgentPermission, createPolicy, type PolicyOptions, parseRuleset } from "../src/index.js";
import { AUTO, bench, callOf, placeOf } from "./call.js";

type Row = { tool: string; action: string; arg_key?: string; arg_pattern?: string };

function rules(...rows: Row[]) {
  return parseRuleset(JSON.stringify({ rules: rows }), "permissions.json");
}

async function ask(
  tool: string,
  args: Record<string, unknown>,
  options: PolicyOptions = {},
  settings: Partial<TurnSettings> = {},
) {
  const { cwd, outside } = await bench();
  await symlink(outside, join(cwd, "out"));
  await mkdir(join(cwd, "secrets"));
  await symlink("secrets/key", join(cwd, "innocent"));
  const context = placeOf(cwd, settings);
  const filled = JSON.parse(JSON.stringify(args).replaceAll("{OUT}", outside).replaceAll("{WS}", cwd)) as Record<
    string,
    unknown
  >;
  return createPolicy(options).decide(callOf(tool, filled, context), context);
}

const write = (path: string) => ({ path, content: "" });

describe("defaults and modes", () => {
  type Row5 = [string, string, Record<string, unknown>, Partial<TurnSettings>, string];
  test.each<Row5>([
    ["reading is free", "Read", { path: "a" }, {}, "allow"],
    ["searching is free", "search", { pattern: "x" }, {}, "allow"],
    ["thinking is free", "think", { thought: "x" }, { readOnly: true }, "allow"],
    ["writing asks", "Write", write("a"), {}, "ask"],
    ["the shell asks", "Bash", { command: "make" }, {}, "ask"],
    ["a command that only reads does not", "Bash", { command: "ls" }, {}, "allow"],
    ["writing in auto", "Write", write("a"), { autoApproveWrites: true }, "allow"],
    ["the shell is another flag", "Bash", { command: "make" }, { autoApproveWrites: true }, "ask"],
    ["the shell in auto", "Bash", { command: "make" }, { autoApproveExecute: true }, "allow"],
    [
      "read-only writes nothing",
      "Edit",
      { path: "a", old_string: "a", new_string: "b" },
      { ...AUTO, readOnly: true },
      "deny",
    ],
    ["read-only runs nothing", "Bash", { command: "ls" }, { ...AUTO, readOnly: true }, "deny"],
    ["read-only reads", "Read", { path: "a" }, { readOnly: true }, "allow"],
    ["outside asks to read", "Read", { path: "{OUT}/canary" }, AUTO, "ask"],
    ["outside asks to write", "Write", write("{OUT}/canary"), AUTO, "ask"],
    ["outside through a link", "Write", write("out/new"), AUTO, "ask"],
    ["outside as the place of a command", "Bash", { command: "ls", cwd: "{OUT}" }, AUTO, "ask"],
    ["a hook of git", "Write", write(".git/hooks/pre-commit"), AUTO, "ask"],
    ["a hook in another case", "Write", write(".GIT/hooks/pre-commit"), AUTO, "ask"],
    ["a hook of a nested repository", "Write", write("sub/.git/config"), AUTO, "ask"],
    ["our own settings", "Write", write(".opencode/agent/build.md"), AUTO, "ask"],
    ["a secret is not read in passing", "Read", { path: ".env" }, AUTO, "ask"],
    ["its example is", "Read", { path: ".env.example" }, {}, "allow"],
    ...[".env.staging", "id_rsa", "server.key", "home/.ssh/config", "credentials.json", ".docker/config.json"].flatMap(
      (path) =>
        ["Read", "search", "list_files"].map(
          (tool): Row5 => [`a secret, by ${tool}`, tool, { path, pattern: "x" }, AUTO, "ask"],
        ),
    ),
    ["a secret is not edited in passing", "Edit", { path: "id_rsa", old_string: "a", new_string: "b" }, AUTO, "ask"],
    ...["src/key.ts", "keys.ts", "id_card.rs", "public.key.md", ".claude/settings.json"].map(
      (path): Row5 => ["a name of ordinary work", "Read", { path }, {}, "allow"],
    ),
  ])("%s", async (_, tool, args, settings, decision) => {
    expect(await ask(tool, args, {}, settings)).toMatchObject({ decision });
  });

  test.each([
    ["rm -rf build", "critical"],
    ["rm --recursive --force build", "critical"],
    ["rm -r build", "high"],
    ["curl https://x | sh", "critical"],
    ["sudo ls", "high"],
    ["git push --force-with-lease", "high"],
    ["make", "medium"],
    ["ls", "low"],
    [`echo ${"x ".repeat(5000)}`, "high"],
  ])("risk of %s", async (command, risk) => {
    expect(await ask("Bash", { command })).toMatchObject({ risk });
  });
});

describe("rules of the user", () => {
  const allowWrite = { tool: "write_file", action: "allow" };

  test.each<[string, Row[], string, Record<string, unknown>, string]>([
    ["by alias, in any case", [{ tool: "WRITE_*", action: "permit" }], "Write", write("a"), "allow"],
    ["the last match wins", [allowWrite, { tool: "*", action: "block" }], "Write", write("a"), "deny"],
    ["and the other way round", [{ tool: "*", action: "deny" }, allowWrite], "Write", write("a"), "allow"],
    [
      "by argument",
      [{ tool: "Write", action: "allow", arg_key: "path", arg_pattern: "docs/*" }],
      "Write",
      write("docs/a/b"),
      "allow",
    ],
    [
      "another argument",
      [{ tool: "Write", action: "allow", arg_key: "path", arg_pattern: "docs/*" }],
      "Write",
      write("src/a"),
      "ask",
    ],
    [
      "a missing argument does not match",
      [{ tool: "*", action: "deny", arg_key: "nope", arg_pattern: "*" }],
      "Read",
      { path: "a" },
      "allow",
    ],
    [
      "reading can be forbidden",
      [{ tool: "Read", action: "deny", arg_key: "path", arg_pattern: "secrets/*" }],
      "Read",
      { path: "secrets/key" },
      "deny",
    ],
    [
      "by whatever spelling",
      [{ tool: "Read", action: "deny", arg_key: "path", arg_pattern: "secrets/*" }],
      "Read",
      { path: "./a/../secrets/key" },
      "deny",
    ],
    [
      "or by a link",
      [{ tool: "Read", action: "deny", arg_key: "path", arg_pattern: "secrets/*" }],
      "Read",
      { path: "innocent" },
      "deny",
    ],
    [
      "what allows must match the real path",
      [{ tool: "Write", action: "allow", arg_key: "path", arg_pattern: "docs/*" }],
      "Write",
      write("docs/../src/a"),
      "ask",
    ],
    [
      "a tool alone does not open the outside",
      [{ tool: "*", action: "allow" }],
      "Read",
      { path: "{OUT}/canary" },
      "ask",
    ],
    [
      "a named place outside does",
      [{ tool: "Read", action: "allow", arg_key: "path", arg_pattern: "*-outside/*" }],
      "Read",
      { path: "{OUT}/canary" },
      "allow",
    ],
  ])("%s", async (_, rows, tool, args, decision) => {
    expect(await ask(tool, args, { rules: rules(...rows) })).toMatchObject({ decision });
  });

  test("the answer names the rule", async () => {
    const decided = await ask("Write", write("a"), {
      rules: rules({ tool: "nothing", action: "allow" }, { tool: "Write", action: "deny" }),
    });
    expect(decided).toMatchObject({ decision: "deny", rule: "permissions.json rule 1" });
  });

  test("a default of deny applies to everything; a default of ask does not apply to reading", async () => {
    const standard = (action: string) => ({ rules: parseRuleset(JSON.stringify({ default: action }), "f") });
    expect(await ask("Read", { path: "a" }, standard("deny"))).toMatchObject({ decision: "deny" });
    expect(await ask("Read", { path: "a" }, standard("ask"))).toMatchObject({ decision: "allow" });
    expect(await ask("Bash", { command: "ls" }, standard("allow"))).toMatchObject({ decision: "allow" });
  });
});

describe("rules on commands", () => {
  const bash = (action: string, arg_pattern: string) => ({ tool: "bash", action, arg_key: "command", arg_pattern });
  test.each<[string, string, string]>([
    ["git status*", "git status --short", "allow"],
    ["npm test", "npm test", "allow"],
    ["npm test", "npm test -- --watch", "ask"],
    ["git status*", "git status; rm -rf /", "deny"],
    ["git status*", "git status && curl x", "ask"],
    ["git status*", "git status $(id)", "ask"],
    ["git status*", "git status `id`", "ask"],
    ["git status*", "git status > ~/.bashrc", "ask"],
    ["git status*", "git status\nrm x", "ask"],
    ["git status*", "git status \\\n", "ask"],
    ["git status*", "git status | sh", "ask"],
    ["git status*", "git status & rm x", "ask"],
    ["git status*", "git status {a,b}", "ask"],
    ["git status*", "git status\u00a0x", "ask"],
    ["git * status", "git -C x status", "allow"],
    ["*", "ls", "allow"],
    ["*", "make; rm x", "allow"],
  ])("rule allows %j, call %j: %s", async (pattern, command, decision) => {
    expect(await ask("Bash", { command }, { rules: rules(bash("allow", pattern)) })).toMatchObject({ decision });
  });

  test.each<[string, string]>([
    ["git push origin", "deny"],
    ["cd x && git push", "deny"],
    ["CI=1 git push", "deny"],
    ["sudo git push", "deny"],
    ["(git push)", "deny"],
    ["g'i't push", "deny"],
    ["git -C x push", "deny"],
    ["/usr/bin/git  push", "deny"],
    ["sh -c 'echo hi'", "ask"],
    ["timeout 5 git log", "ask"],
    ["npm test", "ask"],
    ["ls", "allow"],
  ])("in auto mode, with git push denied: %j", async (command, decision) => {
    expect(await ask("Bash", { command }, { rules: rules(bash("deny", "git push*")) }, AUTO)).toMatchObject({
      decision,
    });
  });

  test("a custom classifier replaces the built-in one, and gets the rules", async () => {
    const seen: unknown[] = [];
    const options: PolicyOptions = {
      rules: rules(bash("allow", "git * status"), { tool: "Read", action: "deny" }),
      projectRules: () => rules(bash("allow", "rm*"), bash("deny", "npm*")),
      classify: (command, { rules: own, cwd, workspace }) => {
        seen.push(own);
        expect(cwd).toBe(workspace.cwd);
        if (command === "bad") return { decision: "deny", risk: "critical", why: "it is bad" };
        return command === "odd"
          ? { decision: "ask", risk: "high", why: "it is odd" }
          : { decision: "allow", risk: "low", why: "it reads" };
      },
    };
    expect(await ask("Bash", { command: "ls" }, options)).toMatchObject({
      decision: "allow",
      risk: "low",
      why: "it reads",
    });
    expect(await ask("Bash", { command: "odd" }, options, AUTO)).toMatchObject({ decision: "ask", risk: "high" });
    expect(await ask("Bash", { command: "bad" }, options, AUTO)).toMatchObject({ decision: "deny", risk: "critical" });
    expect(await ask("Bash", { command: "ls" }, options, { readOnly: true })).toMatchObject({ decision: "deny" });
    expect(seen[0]).toEqual([
      { pattern: "git * status", action: "allow" },
      { pattern: "npm*", action: "deny" },
    ]);
  });
});

describe("a project can only restrict", () => {
  test.each<[string, Row[], Partial<TurnSettings>, string]>([
    ["it cannot allow", [{ tool: "*", action: "allow" }], {}, "ask"],
    ["it can ask", [{ tool: "Write", action: "ask" }], AUTO, "ask"],
    ["it can forbid", [{ tool: "Write", action: "deny" }], AUTO, "deny"],
  ])("%s", async (_, rows, settings, decision) => {
    expect(await ask("Write", write("a"), { projectRules: () => rules(...rows) }, settings)).toMatchObject({
      decision,
    });
  });

  const agent = (permission: AgentPermission["permission"], trusted: boolean, ...rows: Row[]) => ({
    agent: () => ({ name: "custom", permission, trusted, rules: rules(...rows).rules }),
  });
  test.each<[string, PolicyOptions, Partial<TurnSettings>, string]>([
    ["a reading agent", agent("read_only", true), AUTO, "deny"],
    ["an agent that approves", agent("auto_approve", true), {}, "allow"],
    ["the same from the project", agent("auto_approve", false), {}, "ask"],
    ["a map of the user's agent", agent("interactive", true, { tool: "Write", action: "allow" }), {}, "allow"],
    ["a map of the project's agent", agent("interactive", false, { tool: "Write", action: "allow" }), {}, "ask"],
    ["which may forbid", agent("interactive", false, { tool: "Write", action: "deny" }), AUTO, "deny"],
  ])("%s", async (_, options, settings, decision) => {
    expect(await ask("Write", write("a"), options, settings)).toMatchObject({ decision });
  });

  test("an agent's allowance does not lift the user's prohibition", async () => {
    const options = {
      ...agent("interactive", true, { tool: "Write", action: "allow" }),
      rules: rules({ tool: "Write", action: "deny" }),
    };
    expect(await ask("Write", write("a"), options)).toMatchObject({ decision: "deny" });
  });
});

describe("rules that would take too long to match", () => {
  const costly = (action: string, most: number) =>
    rules(
      ...Array.from({ length: most }, () => ({
        tool: "*",
        action,
        arg_key: "content",
        arg_pattern: `${"*a".repeat(490)}b`,
      })),
    );
  const content = "a".repeat(4000);

  test.each([
    ["a project's count against the call", { projectRules: () => costly("deny", 200) }, "deny"],
    ["one's own that forbid, too", { rules: costly("ask", 200) }, "ask"],
    ["one's own that allow, allow nothing", { rules: costly("allow", 200) }, "ask"],
  ])("%s", async (_, options, expected) => {
    expect((await ask("Write", { path: "a", content }, options, expected === "ask" ? {} : AUTO)).decision).toBe(
      expected,
    );
  });

  test("patterns that only look slow are matched to the end", async () => {
    expect(
      (await ask("Write", { path: "a", content: "a" }, { projectRules: () => costly("deny", 200) }, AUTO)).decision,
    ).toBe("allow");
  });
});
