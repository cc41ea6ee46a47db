import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { AgentEvent, RecordType } from "@chimera/acp-schema/events";
import { describe, expect, onTestFinished, test } from "vitest";
import { type CodingAgentOptions, createCodingAgent } from "../../src/agents/index.js";
import type { AgentContext } from "../../src/index.js";
import { createScriptedModel, parseScript, type ScriptInput } from "../../src/scripted.js";
import { contextOf, of, type TurnRequest, turnOf } from "../take-turn.js";
import { bench } from "../tools/bench.js";

const MCP_SERVER = fileURLToPath(new URL("../mcp/fixtures/server.mjs", import.meta.url));
const CAUTIOUS = { autoApproveWrites: false, autoApproveExecute: false };

type Step = ScriptInput["turns"][number]["steps"][number];
const call = (name: string, args: Record<string, unknown>, expectation: Step["expect"] = {}): Step => ({
  expect: expectation,
  reply: [{ call: name, args }],
  stop: "calls",
});
const end: Step = { reply: [{ text: "done" }] };

async function setUp(options: Partial<CodingAgentOptions> = {}) {
  const place = await bench();
  const { outside: home, workspace } = place;
  const put = async (root: string, path: string, text: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  const take = async (steps: Step[], request: TurnRequest = {}, answers: AgentContext["ask"][] = []) => {
    const model = createScriptedModel(parseScript({ turns: [{ steps }], repeat: true }));
    const coding = createCodingAgent({
      resolveModel: () => model,
      home,
      env: { PATH: process.env["PATH"] },
      ...options,
    });
    onTestFinished(() => coding.close());
    const events: AgentEvent[] = [];
    const ask = answers[0] ? { ask: answers[0] } : {};
    const context = contextOf({ ...request, context: { workspace, ...ask, ...request.context } });
    for await (const event of coding.agent(turnOf(request), context)) events.push(event);
    return { coding, events, of: <T extends RecordType>(type: T) => of(events, type) };
  };
  return { ...place, home, put, take };
}

describe("the coding agent", () => {
  test("writes where it may, and asks where it must", async () => {
    const { take, cwd, outside } = await setUp();
    const steps = [
      call("Write", { path: "a.txt", content: "hi" }),
      call("Write", { path: join(outside, "b"), content: "" }),
      call("Read", { path: "a.txt" }),
      end,
    ];
    const asked: unknown[] = [];
    const { of } = await take(steps, {}, [
      async (request) => {
        asked.push(request.args["path"]);
        return { decision: "deny", by: "client" };
      },
    ]);
    expect(await readFile(join(cwd, "a.txt"), "utf8")).toBe("hi");
    expect(asked).toEqual([join(outside, "b")]);
    expect(of("tool_result")).toMatchObject([
      { success: true },
      { success: false },
      { success: true, output: "1\thi" },
    ]);
  });

  test("agents bring their tools, prompt, model and steps", async () => {
    const { take, put, cwd, home } = await setUp();
    await put(cwd, "AGENTS.md", "Use tabs.");
    await put(home, ".opencode/agent/short.md", "---\nmax_steps: 1\ntools: [Read]\n---\nBe short.");
    const expectation = { system: "Be short.", tools: ["Read"] };
    const { of } = await take([call("Read", { path: "AGENTS.md" }, expectation), end], {
      settings: { agent: "short" },
    });
    expect(of("error")).toEqual([]);
    expect(of("turn_end")).toEqual([{ stop_reason: "max_turn_requests" }]);
    const rules = await take([{ ...end, expect: { system: "## Project Rules\n\n<!-- source:" } }], {
      settings: { agent: "plan" },
    });
    expect(rules.of("agent_result")).toMatchObject([{ success: true }]);
  });

  test("a task is prepared for the model that its agent names", async () => {
    const { put, home, workspace } = await setUp();
    await put(home, ".opencode/agent/helper.md", "---\nmode: subagent\nmodel: gpt-6.1-codex\n---\nHelp.");
    const scripted = (...steps: Step[]) => createScriptedModel(parseScript({ turns: [{ steps }] }));
    const models: Record<string, ReturnType<typeof scripted>> = {
      outer: scripted(call("task", { prompt: "Look at it", agent: "helper" }, { system: "Model: outer" }), end),
      "gpt-6.1-codex": scripted({ ...end, expect: { system: "Model: gpt-6.1-codex", tools: ["apply_patch"] } }),
    };
    const coding = createCodingAgent({ resolveModel: (name) => models[name]!, home });
    onTestFinished(() => coding.close());
    const events: AgentEvent[] = [];
    const turn = turnOf({ settings: { model: "outer" } });
    for await (const event of coding.agent(turn, contextOf({ context: { workspace } }))) events.push(event);
    expect(of(events, "tool_result")).toMatchObject([{ success: true, output: "done" }]);
  });

  test("a folder's rules come with the first result from the folder, once per conversation", async () => {
    const { take, put, cwd } = await setUp();
    await put(cwd, "lib/AGENTS.md", "Tabs only.");
    await put(cwd, "lib/a.txt", "a");
    await put(cwd, "lib/b.txt", "b");
    await put(cwd, "c.txt", "c");
    const steps = ["c.txt", "lib/a.txt", "lib/b.txt"].map((path) => call("Read", { path }));
    const { of } = await take([...steps, end]);
    const outputs = of("tool_result").map(({ output }) => output);
    expect(outputs[0]).toBe("1\tc");
    expect(outputs[1]).toMatch(/^1\ta\n\n\[Project rules .*\n<!-- source: .*lib\/AGENTS\.md -->\nTabs only\.$/s);
    expect(outputs[2]).toBe("1\tb");
    const history = [{ role: "tool" as const, id: "x", name: "Read", success: true, output: outputs[1] ?? "" }];
    const later = await take([...steps, end], { history });
    expect(later.of("tool_result").map(({ output }) => output)).toEqual(["1\tc", "1\ta", "1\tb"]);
  });

  test("the model reads the date, the shell, the branch and the changed files, and git obeys no repository's settings", {
    tags: ["needs-git"],
  }, async () => {
    const { take, put, cwd } = await setUp({ env: { PATH: process.env["PATH"], SHELL: "/bin/zsh" } });
    await promisify(execFile)("git", ["init", "-q", "-b", "topic", cwd]);
    await put(cwd, "new.txt", "");
    const expectSystem = (system: string): Step => ({ ...end, expect: { system } });
    for (const part of [`Date: ${new Date().getFullYear()}-`, "shell zsh", "Git branch: topic", "?? new.txt"]) {
      const { of } = await take([expectSystem(part)]);
      expect(of("agent_result"), part).toMatchObject([{ success: true }]);
    }
    const marker = join(cwd, "ran");
    await promisify(execFile)("git", ["-C", cwd, "add", "new.txt"]);
    const linked = join((await bench()).cwd, "linked");
    const identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    await promisify(execFile)("git", ["-C", cwd, ...identity, "commit", "-q", "-m", "first"]);
    await promisify(execFile)("git", ["-C", cwd, "worktree", "add", "-q", "-b", "side", linked]);
    await put(linked, "other.txt", "");
    const workspace = { ...(await bench()).workspace, cwd: linked };
    for (const part of ["Git branch: side", "?? other.txt"]) {
      const { of } = await take([expectSystem(part)], { context: { workspace } });
      expect(of("agent_result"), part).toMatchObject([{ success: true }]);
    }
    await put(cwd, "new.txt", "x");
    await promisify(execFile)("git", ["-C", cwd, "config", "filter.x.clean", `touch ${marker}; cat`]);
    await put(cwd, ".gitattributes", "* filter=x");
    await promisify(execFile)("git", ["-C", cwd, "config", "core.fsmonitor", `touch ${marker}`]);
    const { of } = await take([expectSystem("Git branch: topic")]);
    expect(of("agent_result")).toMatchObject([{ success: true }]);
    expect(await readdir(cwd)).not.toContain("ran");
  });

  test("sessions that begin together in one directory ask git once", { tags: ["needs-git"] }, async () => {
    const { cwd, workspace, outside: home } = await setUp();
    await promisify(execFile)("git", ["init", "-q", "-b", "topic", cwd]);
    const asked = join(home, "asked");
    await writeFile(join(home, "git"), `#!/bin/sh\necho asked >> ${asked}\n`, { mode: 0o755 });
    const steps = [{ ...end, expect: { system: "Git branch: topic" } }];
    const model = createScriptedModel(parseScript({ turns: [{ steps }], repeat: true }));
    const env = { PATH: `${home}:${process.env["PATH"]}` };
    const coding = createCodingAgent({ resolveModel: () => model, home, env });
    onTestFinished(() => coding.close());
    const results = await Promise.all(
      ["one", "two", "three"].map(async (sessionId) => {
        const events: AgentEvent[] = [];
        const turn = { ...turnOf({}), sessionId };
        for await (const event of coding.agent(turn, contextOf({ context: { workspace } }))) events.push(event);
        return of(events, "agent_result").map(({ success }) => success);
      }),
    );
    expect(results).toEqual([[true], [true], [true]]);
    // On a busy machine git's time limit may be over before it writes.
    expect(["", "asked\n"]).toContain(await readFile(asked, "utf8").catch(() => ""));
  });

  test("built-in agents have no step limit, and an agent's file can set one", async () => {
    const { take, put, home } = await setUp();
    await put(home, ".opencode/agent/short.md", "---\nmax_steps: 3\n---\nBe short.");
    const steps = [...Array.from({ length: 120 }, (_, n) => call("think", { thought: String(n) })), end];
    const long = await take(steps, { settings: { maxSteps: 400 } });
    expect(long.of("agent_result")).toMatchObject([{ success: true, steps: 121 }]);
    const short = await take(steps, { settings: { agent: "short", maxSteps: 400 } });
    expect(short.of("agent_result")).toMatchObject([{ success: false, steps: 3 }]);
  });

  test("a long output is saved in full where Read and search find it", async () => {
    const { home } = await setUp();
    const outputsDirectory = join(home, "outputs");
    const options = { outputsDirectory };
    const settings = { settings: CAUTIOUS };
    const allow = async () => ({ decision: "allow", by: "client" }) as const;
    const printing = { reply: [{ call: "Bash", args: { command: "seq 1 20000" }, id: "toolu_1" }] };
    const first = await (await setUp(options)).take([printing, end], settings, [allow]);
    const path = /the full text is in (\S+), for Read/.exec(first.of("tool_result")[0]?.output ?? "")?.[1] ?? "";
    expect(path).toBe(join(outputsDirectory, "s", "toolu_1.txt"));
    const reading = [call("Read", { path, offset: 9000, limit: 1 }), call("search", { path, pattern: "^12345$" }), end];
    const second = await (await setUp(options)).take(reading, { ...settings, number: 1 }, [allow]);
    expect(second.of("tool_result")).toMatchObject([
      { success: true, output: expect.stringContaining("9000\n") },
      { success: true, output: expect.stringContaining(":12345:12345") },
    ]);
  });

  test("the rules of a folder are found through a linked workspace, and do not give access to keys", async () => {
    const { take, put, cwd, outside } = await setUp();
    await put(cwd, "lib/AGENTS.md", "Tabs only.");
    await put(cwd, "lib/a.txt", "a");
    await put(cwd, ".env", "KEY=canary");
    await put(cwd, "trap/b.txt", "b");
    await symlink("../.env", join(cwd, "trap/AGENTS.md"));
    const linked = join(outside, "linked");
    await symlink(cwd, linked);
    const workspace = { ...(await bench()).workspace, cwd: linked, readText: (path: string) => readFile(path, "utf8") };
    const steps = ["lib/a.txt", "trap/b.txt"].map((path) => call("Read", { path }));
    const { of } = await take([...steps, end], { context: { workspace } });
    const outputs = of("tool_result").map(({ output }) => output);
    expect(outputs[0]).toContain("Tabs only.");
    expect(outputs[1]).toBe("1\tb");
  });

  test("git runs nothing for a repository that is hidden in the working directory", {
    tags: ["needs-git"],
  }, async () => {
    const { take, cwd } = await setUp();
    const run = promisify(execFile);
    await run("git", ["init", "-q", cwd]);
    const inner = join(cwd, "inner");
    await run("git", ["init", "-q", "--bare", inner]);
    const marker = join(cwd, "ran");
    for (const [key, value] of [
      ["core.bare", "false"],
      ["core.worktree", "."],
      ["filter.x.clean", `touch ${marker}; cat`],
    ] as const)
      await run("git", ["-C", inner, "--git-dir", inner, "config", key, value]);
    await writeFile(join(inner, ".gitattributes"), "* filter=x\n");
    await writeFile(join(inner, "f"), "1");
    await run("git", ["--git-dir", inner, "--work-tree", inner, "-c", "filter.x.clean=cat", "add", "f"]);
    await writeFile(join(inner, "f"), "2");
    const workspace = { ...(await bench()).workspace, cwd: inner };
    const { of } = await take([end], { context: { workspace } });
    expect(of("agent_result")).toMatchObject([{ success: true }]);
    expect(await readdir(cwd)).not.toContain("ran");
  });

  test("requests declare only those of many MCP tools that the session may use", async () => {
    const { take, put, home } = await setUp();
    const server = { command: process.execPath, args: [MCP_SERVER] };
    await put(home, ".opencode/config.json", JSON.stringify({ mcp: { mine: server } }));
    const settings = { allowedTools: ["Read", "mcp__mine__echo"] };
    const { of } = await take([{ ...end, expect: { tools: ["Read", "mcp__mine__echo"] } }], { settings });
    expect(of("agent_result")).toMatchObject([{ success: true }]);
  });

  test("MCP servers of the user and the editor are started; the project's is only named", async () => {
    const { take, put, cwd, home } = await setUp();
    const server = { command: process.execPath, args: [MCP_SERVER] };
    await put(home, ".opencode/config.json", JSON.stringify({ mcp: { mine: server } }));
    await put(cwd, ".opencode/mcp.json", JSON.stringify({ mcp: { theirs: server } }));
    const editor = { type: "stdio", name: "editor", env: {}, ...server } as const;
    const steps = [call("mcp__mine__echo", { text: "x" }, { tools: ["mcp__mine__echo", "mcp__editor__echo"] }), end];
    const { of, coding } = await take(steps, { settings: { mcpServers: [editor] } });
    expect(of("notice")).toMatchObject([
      { level: "warning", text: expect.stringContaining("left out: the MCP server theirs of") },
    ]);
    expect(of("tool_result")).toMatchObject([{ success: true, output: "echo: x" }]);
    await coding.closeSession("s");
  });

  test("a notice names broken files once, and the turn continues", async () => {
    const { take, workspace } = await setUp({ problems: async () => ["rules.json: not valid JSON"] });
    const first = await take([end], { settings: { agent: "gone" } });
    expect(first.of("notice").map(({ text }) => text)).toEqual([
      expect.stringContaining("not valid JSON"),
      expect.stringContaining("No agent is called"),
    ]);
    const again: AgentEvent[] = [];
    const context = contextOf({ context: { workspace } });
    for await (const event of first.coding.agent(turnOf({ number: 1 }), context)) again.push(event);
    expect(of(again, "notice")).toEqual([]);
    expect(first.of("agent_result")).toMatchObject([{ success: true }]);
  });

  test("a cancel before anything began still ends the turn", async () => {
    const { take } = await setUp();
    const { events } = await take([end], { context: { signal: AbortSignal.abort() } });
    expect(events.at(-1)?.type).toBe("cancelled");
  });
});

describe("skills and pages", () => {
  const SKILL = "---\nname: pdf\ndescription: Reads PDF files\n---\nUse pdftotext.";
  const trust = (isGiven: boolean) => ({
    file: "/nonexistent",
    isGiven: () => isGiven,
    leftOut: () => [],
    how: "Trust it",
  });

  test("a skill is listed in the prompt and read by a call; a project's skill only when the project is trusted", async () => {
    for (const isGiven of [true, false]) {
      const { take, put, cwd } = await setUp({ trust: trust(isGiven) });
      await put(cwd, ".claude/skills/pdf/SKILL.md", SKILL);
      const steps = [
        call("skill", { name: "pdf" }, isGiven ? { system: "- pdf: Reads PDF files", tools: ["skill"] } : {}),
        end,
      ];
      const { of } = await take(steps);
      expect(of("tool_result")).toMatchObject([
        isGiven
          ? { success: true, output: "Use pdftotext." }
          : { success: false, output: expect.stringMatching(/^No tool is called "skill"/) },
      ]);
    }
  });

  test("fetching a page needs permission, and the tool is hidden without a network", async () => {
    const { take } = await setUp();
    const asked: string[] = [];
    const { of } = await take([call("web_fetch", { url: "http://127.0.0.1/" }), end], { settings: CAUTIOUS }, [
      async (request) => {
        asked.push(request.tool);
        return { decision: "allow", by: "client" };
      },
    ]);
    expect(asked).toEqual(["web_fetch"]);
    expect(of("tool_result")).toMatchObject([{ success: false, output: "127.0.0.1 is not on the public internet." }]);
    const offline = await setUp({ mcpNetwork: () => false });
    const refused = await offline.take([call("web_fetch", { url: "http://a.test/" }), end]);
    expect(refused.of("tool_result")).toMatchObject([
      { success: false, output: expect.stringMatching(/^No tool is called "web_fetch"/) },
    ]);
  });

  test("the definitions of all built-in tools stay below 8 KB", () => {
    const { tools } = createCodingAgent({ resolveModel: () => Promise.reject(new Error()), home: "/nonexistent" });
    const sizes = tools
      .filter(({ deferred }) => !deferred)
      .map(
        (tool) =>
          JSON.stringify({ name: tool.name, description: tool.description, input_schema: tool.inputSchema }).length,
      );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(8_192);
  });
});
