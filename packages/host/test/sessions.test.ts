import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isLost } from "@chimera/acp-schema/events";
import { standardDialect } from "@chimera/acp-server";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Config, openCore, type Profile } from "../src/index.js";
import { freePort, makeHome, startServer } from "./program.js";

const profile: Profile = {
  name: "otter",
  title: "Otter",
  version: "0.0.0",
  tagline: "",
  defaultTransport: "http",
  permitFlag: "--mode auto",
  dialects: [standardDialect],
  chain: [],
  settings: {},
  flags: {},
  extensions: [],
};

async function open(
  home: string,
  flags: Record<string, string | boolean> = {},
  extensions: Profile["extensions"] = profile.extensions,
) {
  const own = { env: { PATH: process.env["PATH"], CHIMERA_HOME: join(home, ".chimera") }, cwd: () => home };
  const here = Object.assign(Object.create(process), own) as NodeJS.Process;
  const opened = await openCore({
    profile: { ...profile, extensions },
    flags: { model: "offline", ...flags },
    process: here,
  });
  onTestFinished(() => opened.core.close());
  return opened;
}

async function makeProject(home: string, config: unknown): Promise<string> {
  const cwd = join(home, "project");
  await mkdir(join(cwd, ".chimera"), { recursive: true });
  await writeFile(join(cwd, ".chimera", "config.json"), typeof config === "string" ? config : JSON.stringify(config));
  return cwd;
}

const logsOf = ({ paths }: Config) => (existsSync(paths.eventlog) ? readdirSync(paths.eventlog) : []);

/** Runs a prompt and returns the types and texts of its records. */
async function ask(opened: Awaited<ReturnType<typeof open>>, cwd: string, text: string): Promise<string> {
  const session = await opened.core.sessions.create({ cwd });
  session.prompt({ text });
  await session.idle();
  const lines: string[] = [];
  for await (const entry of opened.core.sessions.logs.read(session.id))
    lines.push(JSON.stringify(isLost(entry) ? entry : entry.event));
  return lines.join("");
}

describe("sessions in this process", () => {
  it("run where and how the config says, and are kept", async () => {
    const home = await makeHome();
    await writeFile(join(home, "README.md"), "read me\n");
    const opened = await open(home);
    expect(await ask(opened, home, "list files")).toContain("README.md");
    expect(logsOf(opened.config)).toContainEqual(expect.stringMatching(/^otter-/));
  });

  it.each([
    ["read-only", {}, {}, "read-only"],
    ["auto", {}, {}, "review"],
    ["auto", { require_approval_for_writes: false, require_approval_for_execute: false }, {}, "auto"],
    [
      "auto",
      { require_approval_for_writes: false, require_approval_for_execute: false },
      { read_only: true },
      "read-only",
    ],
  ])("mode %s in the user's file only takes away from what safety allows", async (mode, safety, theirs, opensIn) => {
    const home = await makeHome();
    await mkdir(join(home, ".chimera"), { recursive: true });
    await writeFile(join(home, ".chimera", "config.json"), JSON.stringify({ mode, safety }));
    const cwd = await makeProject(home, { safety: theirs });
    expect((await (await open(home)).core.sessions.create({ cwd })).mode).toBe(opensIn);
    const typed = await open(home, { mode: "auto", agent: "plan" });
    const session = await typed.core.sessions.create({ cwd });
    expect([session.mode, session.settings.agent]).toEqual(["auto", "plan"]);
  });

  /** The journal of an undo that looks interrupted. */
  async function beginUndo({ paths }: Config, home: string, id: string): Promise<string> {
    const journal = join(paths.snapshots, id, "restore.json");
    const stack = { counter: 0, undo: [], redo: [] };
    const text = JSON.stringify({
      v: 1,
      phase: "stage",
      roots: [home],
      stage: `.chimera-restore-${"0".repeat(12)}`,
      plan: { files: [], dirs: [], outcomes: [] },
      stacks: { before: stack, after: stack },
    });
    await mkdir(dirname(journal), { recursive: true });
    await writeFile(journal, `${text}\n${createHash("sha256").update(text).digest("hex")}\n`);
    return journal;
  }

  it("are hidden from each other, audited and counted in the directory of --store", async () => {
    const home = await makeHome();
    await mkdir(join(home, ".chimera"), { recursive: true });
    await writeFile(join(home, ".chimera", "config.json"), JSON.stringify({ limits: { all: { disk_bytes: 1e9 } } }));
    const opened = await open(home, { store: `file:${join(home, "kept")}` });
    const { sessions } = opened.core;
    const other = await sessions.create({ cwd: home });
    expect(await ask(opened, home, `read kept/eventlog/${other.id}/summary.json`)).not.toContain("started_at");
    const audited = readdirSync(join(home, "kept", "audit"), { encoding: "utf8" });
    expect(audited).toContainEqual(expect.stringMatching(/\.jsonl$/));
    await expect.poll(() => sessions.quota.use().diskBytes).toBeGreaterThan(1000);
    expect(readdirSync(join(home, ".chimera"))).not.toContain("audit");
  });

  it("are undone by their holder: an undo that another process is running does not count as interrupted", async () => {
    const home = await makeHome();
    const first = await open(home);
    const { id } = await first.core.sessions.create({ cwd: home });
    const journal = await beginUndo(first.config, home, id);
    await (await open(home)).core.close();
    expect(existsSync(journal)).toBe(true);
    await first.core.close();
    await open(home);
    await expect.poll(() => existsSync(journal), { timeout: 10_000 }).toBe(false);
  });

  it("are not repaired while another process may have them in memory, until they have been unchanged for long", async () => {
    const home = await makeHome();
    const first = await open(home);
    const { id } = await first.core.sessions.create({ cwd: home, persist: false });
    const journal = await beginUndo(first.config, home, id);
    await open(home);
    expect(existsSync(journal)).toBe(true);
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(dirname(journal), longAgo, longAgo);
    await open(home);
    await expect.poll(() => existsSync(journal), { timeout: 10_000 }).toBe(false);
  });

  it.each([
    ["missing.json", "ENOENT"],
    ["notes/servers.json", "ENOTDIR"],
  ])("do not start with servers from %s, which cannot be read", async (name, code) => {
    const home = await makeHome();
    await writeFile(join(home, "notes"), "");
    const mcp = join(home, name);
    await expect(open(home, { mcp })).rejects.toThrow(`--mcp: cannot read ${mcp}: ${code}`);
  });

  it("survive an agent that cannot be loaded: the turn reports why, and the next one tries again", async () => {
    const home = await makeHome();
    const failures = ["the first", "the last"].map((name) => new Error(`${name} key is not there`));
    const agent = async () => {
      const failure = failures.shift();
      if (failure) throw failure;
      return {};
    };
    const first = await open(home, {}, [{ name: "late", start: () => ({ agent }) }]);
    const session = await first.core.sessions.create({ cwd: home });
    const outcomes: unknown[] = [];
    for (let turn = 0; turn < 3; turn++) {
      session.prompt({ text: "list files" });
      await session.idle();
      outcomes.push(session.conversation.turns[turn]?.result?.error);
    }
    expect(outcomes).toEqual(["the first key is not there", "the last key is not there", null]);
  });

  it("are released when the program ends, also when its agent was never loaded", async () => {
    const home = await makeHome();
    const agent = async () => Promise.reject(new Error("no agent"));
    const first = await open(home, {}, [{ name: "never", start: () => ({ agent }) }]);
    const { id } = await first.core.sessions.create({ cwd: home });
    await expect(first.core.tools()).rejects.toThrow("no agent");
    await first.core.close();
    const second = await open(home);
    expect((await second.core.sessions.load(id)).id).toBe(id);
  });

  it("leave nothing on disk with --no-save", async () => {
    const home = await makeHome();
    const opened = await open(home, { "no-save": true });
    expect(await ask(opened, home, "list files")).toContain("agent_result");
    expect(logsOf(opened.config).filter((name) => name.startsWith("otter-"))).toEqual([]);
  });

  it("are bound by the limits of their own directory", async () => {
    const home = await makeHome();
    const cwd = await makeProject(home, { allowed_tools: ["Read"], model: "offline", save: false });
    await writeFile(join(cwd, "secret-name.txt"), "");
    const opened = await open(home);
    expect(await ask(opened, cwd, "list files")).not.toContain("secret-name.txt");
    expect(await ask(opened, home, "list files")).toContain("project");
    expect(logsOf(opened.config).filter((name) => name.startsWith("otter-"))).toHaveLength(1);
  });

  it("are bound by those limits also when a client asks for more", async () => {
    const home = await makeHome();
    const cwd = await makeProject(home, { allowed_tools: ["Read", "list_files"] });
    const opened = await open(home);
    for (const directory of [home, cwd]) {
      const settings = { allowedTools: ["Write"], autoApproveWrites: true };
      const session = await opened.core.sessions.create({ cwd: directory, settings });
      session.prompt({ text: "write a.txt: hello" });
      await session.idle();
    }
    expect([home, cwd].map((directory) => existsSync(join(directory, "a.txt")))).toEqual([true, false]);
  });

  it("are refused in a directory with an invalid config", async () => {
    const home = await makeHome();
    const cwd = await makeProject(home, '{"max_steps": "many"}');
    const opened = await open(home);
    await expect(opened.core.sessions.create({ cwd })).rejects.toMatchObject({
      code: "invalid_setting",
      message: expect.stringContaining("config.json: max_steps takes"),
    });
  });
});

describe("a stopped server", () => {
  it("has cancelled its turns, recorded their ends and left no child process", async () => {
    const home = await makeHome();
    await mkdir(join(home, ".chimera"), { recursive: true });
    const rules = { version: 1, default: "ask", rules: [{ tool: "bash", action: "allow" }] };
    await writeFile(join(home, ".chimera", "permissions.json"), JSON.stringify(rules), { mode: 0o600 });
    const cwd = join(home, "work");
    await mkdir(cwd);
    const port = await freePort();
    const server = await startServer(home, port, "--model", "offline");
    const marker = `61.${process.pid}`;
    const answer = await fetch(`http://127.0.0.1:${port}/sessions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ prompt: `run \`sleep ${marker}\``, cwd }),
    });
    const { session_id } = (await answer.json()) as { session_id: string };
    await expect.poll(() => commandsWith(marker), { timeout: 10_000 }).not.toEqual([]);
    server.child.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
    expect(commandsWith(marker)).toEqual([]);
    const opened = await open(home);
    const types: string[] = [];
    for await (const { type } of opened.core.sessions.logs.read(session_id)) types.push(type);
    expect(types.at(-1)).toBe("cancelled");
  });
});

/** Processes whose command line contains the text. */
function commandsWith(text: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1");
      } catch {
        return "";
      }
    })
    .filter((command) => command.includes(text));
}
