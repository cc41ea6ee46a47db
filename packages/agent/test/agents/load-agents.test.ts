import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { BUILTIN_AGENTS, createAgentList, loadAgents, loadInstructions, toolsOf } from "../../src/agents/index.js";
import { builtinTools } from "../../src/tools/index.js";
import { bench } from "../tools/bench.js";

async function places() {
  const { cwd, outside: home } = await bench();
  const put = async (root: string, path: string, text: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  const load = async (trusted = true) => loadAgents({ home, cwd, trusted });
  const named = async (name: string, trusted = true) =>
    (await load(trusted)).agents.find((agent) => agent.name === name);
  return { cwd, home, put, load, named };
}

describe("agent definitions", () => {
  test("the built-in ones, and what they may do", async () => {
    const { load } = await places();
    const { agents, problems } = await load();
    expect(problems).toEqual([]);
    expect(agents.map(({ name, permission }) => [name, permission])).toEqual([
      ["build", "interactive"],
      ["plan", "read_only"],
      ["explore", "read_only"],
      ["review", "read_only"],
      ["general", "auto_approve"],
    ]);
    const plan = agents[1] as (typeof agents)[number];
    expect(toolsOf(plan, builtinTools()).map(({ name }) => name)).toEqual([
      "Read",
      "search",
      "list_files",
      "think",
      "ask",
      "todo",
    ]);
    for (const agent of agents.filter(({ permission }) => permission === "read_only"))
      expect(["read", "search", "think"]).toEqual(
        expect.arrayContaining(toolsOf(agent, builtinTools()).map(({ kind }) => kind)),
      );
  });

  test("a file can set every field", async () => {
    const { put, home, named } = await places();
    const head =
      "name: docs\ndescription: Writes docs\nmode: primary\ntools: [read_file, Write, 'mcp__*']\nmodel: small\nmax_steps: 7\nhidden: true\npermission:\n  edit:\n    '*': ask\n    'docs/*': allow\n  bash: deny\n  webfetch: Block";
    await put(
      home,
      ".opencode/agent/file-name.md",
      `\ufeff---\r\n${head.replaceAll("\n", "\r\n")}\r\n---\r\n\r\nYou write docs.\r\n`,
    );
    expect(await named("docs")).toEqual({
      name: "docs",
      description: "Writes docs",
      mode: "primary",
      tools: ["read_file", "Write", "mcp__*"],
      permission: "interactive",
      rules: [
        { tool: "*", kinds: ["edit", "delete", "move"], action: "ask", source: "agent docs edit" },
        {
          tool: "*",
          kinds: ["edit", "delete", "move"],
          action: "allow",
          argKey: "path",
          argPattern: "docs/*",
          source: "agent docs edit",
        },
        { tool: "*", kinds: ["execute"], action: "deny", source: "agent docs bash" },
        { tool: "*", kinds: ["fetch"], action: "deny", source: "agent docs webfetch" },
      ],
      maxSteps: 7,
      model: "small",
      prompt: "You write docs.",
      hidden: true,
      source: "user",
    });
  });

  test("without a name in the head the file's name is used, and with a bad head the whole file is the prompt", async () => {
    const { put, cwd, load } = await places();
    await put(cwd, ".opencode/agent/plain.md", "Just a prompt.");
    await put(cwd, ".opencode/agent/bad.md", "---\nname: [\n---\nText");
    await put(cwd, ".opencode/agent/bomb.md", "---\na: &a [1,1]\nb: [*a,*a,*a]\n---\nText");
    await put(cwd, ".opencode/agent/odd.md", "---\npermission: {edit: maybe}\nmax_steps: -3\n---\nText");
    await put(cwd, ".opencode/agent/empty.md", "\n");
    const { agents, problems } = await load();
    expect(agents.slice(5).map(({ name }) => name)).toEqual(["bad", "bomb", "odd", "plain"]);
    expect(agents.find(({ name }) => name === "bad")?.prompt).toContain("name: [");
    expect(agents.find(({ name }) => name === "odd")).toMatchObject({ rules: [], maxSteps: null });
    expect(problems).toHaveLength(3);
  });

  test("the project's agent wins over the user's, but lifts no limit of it", async () => {
    const { put, cwd, home, named } = await places();
    await put(home, ".opencode/agent/build.md", "---\npermissions: read_only\ntools: [Read, search]\n---\nUser");
    expect(await named("build")).toMatchObject({ prompt: "User", permission: "read_only", source: "user" });
    await put(
      cwd,
      ".opencode/agent/build.md",
      "---\npermissions: auto_approve\ntools: [Read, Bash]\npermission: {bash: allow}\n---\nProject",
    );
    await put(cwd, ".opencode/agent/plan.md", "---\npermissions: auto_approve\n---\nProject");
    expect(await named("build")).toMatchObject({
      prompt: "Project",
      permission: "read_only",
      tools: ["Read"],
      rules: [],
      source: "project",
    });
    expect(await named("plan")).toMatchObject({
      permission: "read_only",
      tools: BUILTIN_AGENTS.find(({ name }) => name === "plan")?.tools,
    });
  });

  test("an untrusted project adds words and limits, and chooses neither model nor mode", async () => {
    const { put, cwd, home, load, named } = await places();
    await put(home, ".opencode/agent/mine.md", "---\nmodel: opus\nmax_steps: 5\ndescription: My own\n---\nMine");
    const theirs =
      "---\nmodel: scripted:evil.json\nhidden: true\nmode: subagent\ndescription: Theirs\nmax_steps: 9\n---\nTheirs";
    for (const name of ["build", "mine", "fresh"]) await put(cwd, `.opencode/agent/${name}.md`, theirs);
    const [build] = BUILTIN_AGENTS;
    expect(await named("build", false)).toEqual({
      ...build,
      maxSteps: 9,
      prompt: `${build?.prompt}\n\nTheirs`,
      source: "project",
    });
    expect(await named("mine", false)).toMatchObject({ model: "opus", maxSteps: 5, prompt: "Mine\n\nTheirs" });
    expect(await named("mine", false)).toMatchObject({ description: "My own", hidden: false });
    expect(await named("fresh", false)).toMatchObject({ model: null, prompt: "Theirs" });
    expect((await load(false)).untrusted).toHaveLength(3);
    expect(await named("mine")).toMatchObject({ model: "scripted:evil.json", maxSteps: 5, prompt: "Theirs" });
    expect((await load()).untrusted).toEqual([]);
  });

  test("`.chimera` wins over `.opencode`; `.claude` is used only for other names, and widens nothing", async () => {
    const { put, home, cwd, load } = await places();
    await put(home, ".opencode/agent/a.md", "opencode");
    await put(home, ".chimera/agents/a.md", "chimera");
    await put(home, ".claude/agents/a.md", "claude");
    await put(home, ".claude/agents/build.md", "---\nname: build\npermission: auto_approve\n---\nanother build");
    await put(home, ".claude/agents/b.md", "---\nmodel: opus\ntools: Read, Grep\n---\nclaude");
    await put(cwd, ".claude/agents/b.md", "---\npermission: auto_approve\n---\nproject");
    const { agents, untrusted } = await load(false);
    const of = (name: string) => agents.find((agent) => agent.name === name);
    expect(of("a")).toMatchObject({ prompt: "chimera", mode: "all" });
    expect(of("b")).toMatchObject({
      prompt: "claude",
      mode: "subagent",
      model: null,
      tools: ["Read", "Grep"],
      source: "user",
    });
    expect(of("build")).toEqual(BUILTIN_AGENTS[0]);
    expect(untrusted).toEqual([]);
  });

  test("a project's file that leads out of it is not read", async () => {
    const { put, cwd, home, load } = await places();
    await put(home, "private", "secret words");
    await mkdir(join(cwd, ".opencode/agent"), { recursive: true });
    await symlink(join(home, "private"), join(cwd, ".opencode/agent/spy.md"));
    await symlink(join(home, "private"), join(cwd, "AGENTS.md"));
    expect((await load()).agents).toHaveLength(5);
    expect(await loadInstructions({ home, cwd })).toEqual({ text: "", problems: [] });
  });
});

describe("a list that is cached until the files change", () => {
  test("sees each change", async () => {
    const { put, cwd, home } = await places();
    const list = createAgentList(home, () => true);
    const names = async () => (await list(cwd)).agents.slice(5).map(({ name }) => name);
    expect(await names()).toEqual([]);
    await put(cwd, ".opencode/agent/a.md", "A.");
    expect(await names()).toEqual(["a"]);
    await put(cwd, ".opencode/agent/a.md", "---\nname: b\n---\nB.");
    expect(await names()).toEqual(["b"]);
  });

  test.each(["a file", "a link to itself"])("is the built-in one where .opencode is %s", async (kind) => {
    const { cwd, home } = await places();
    if (kind === "a file") await writeFile(join(cwd, ".opencode"), "");
    else await symlink(".opencode", join(cwd, ".opencode"));
    expect((await createAgentList(home, () => true)(cwd)).agents).toHaveLength(5);
  });

  test("is complete in spite of a link to itself", async () => {
    const { put, cwd, home } = await places();
    await put(cwd, ".opencode/agent/a.md", "A.");
    await symlink("loop.md", join(cwd, ".opencode/agent/loop.md"));
    expect((await createAgentList(home, () => true)(cwd)).agents).toHaveLength(6);
  });
});

describe("project instructions", () => {
  test("in order, each with its source and without its head", async () => {
    const { put, cwd, home } = await places();
    await put(cwd, ".opencode/rules.md", "five");
    await put(cwd, ".cursor/rules/b.mdc", "four");
    await put(cwd, ".cursor/rules/a.mdc", "---\nglobs: '*'\n---\nthree b");
    await put(cwd, ".cursor/rules/c.txt", "not this");
    await put(cwd, "AGENTS.md", "three");
    await put(home, ".chimera/AGENTS.md", "two b");
    await put(home, ".config/opencode/AGENTS.md", "two");
    await put(home, ".opencode/AGENTS.md", "one");
    const { text } = await loadInstructions({ home, cwd });
    expect(text.match(/^(?!<).+$/gm)).toEqual(["one", "two", "two b", "three", "three b", "four", "five"]);
    expect(text).toContain(`<!-- source: ${join(cwd, "AGENTS.md")} -->\nthree\n`);
  });

  test("from the repository's root down to the working directory, CLAUDE.md where there is no AGENTS.md", async () => {
    const { put, cwd, home } = await places();
    await mkdir(join(cwd, ".git"));
    await put(cwd, "AGENTS.md", "at the root");
    await put(cwd, "CLAUDE.md", "not this");
    await put(cwd, "packages/CLAUDE.md", "in packages");
    await put(cwd, "packages/one/AGENTS.md", "in one");
    await put(cwd, "packages/one/deep/AGENTS.md", "below, not yet");
    const { text } = await loadInstructions({ home, cwd: join(cwd, "packages", "one") });
    expect(text.match(/^(?!<).+$/gm)).toEqual(["at the root", "in packages", "in one"]);
  });

  test("a directory that anyone may write to is not a project", async () => {
    const { put, cwd, home } = await places();
    await mkdir(join(cwd, ".git"));
    await put(cwd, "AGENTS.md", "planted");
    await put(cwd, "one/AGENTS.md", "here");
    await chmod(cwd, 0o1777);
    const { text } = await loadInstructions({ home, cwd: join(cwd, "one") });
    expect(text.match(/^(?!<).+$/gm)).toEqual(["here"]);
  });

  test("outside a repository the directories above are ignored", async () => {
    const { put, cwd, home } = await places();
    await put(cwd, "AGENTS.md", "above");
    await put(cwd, "one/AGENTS.md", "here");
    const { text } = await loadInstructions({ home, cwd: join(cwd, "one") });
    expect(text.match(/^(?!<).+$/gm)).toEqual(["here"]);
  });

  test("beyond 64 KB the person's are cut before the project's, and a problem says so", async () => {
    const { put, cwd, home } = await places();
    await put(home, ".opencode/AGENTS.md", "u".repeat(50_000));
    await put(cwd, "AGENTS.md", "p".repeat(50_000));
    const { text, problems } = await loadInstructions({ home, cwd });
    expect(text.length).toBeLessThanOrEqual(64 * 1024 + 2);
    expect(text.match(/p/g)?.length).toBeGreaterThanOrEqual(50_000);
    expect(text).toContain("u\n[...truncated]\n\n<!-- source:");
    expect(problems).toEqual([expect.stringContaining(`${join(home, ".opencode/AGENTS.md")} is cut`)]);
  });
});
