// The sandbox from the outside: what the tools of the real program can and cannot do under each mode.
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ferretPeer } from "./ferret-peer.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

const confined = { tags: ["needs-sandbox"] };
const confinedGit = { tags: ["needs-sandbox", "needs-git"] };
const bash = (command: string) => ({ call: "Bash", args: { command } });
const write = (path: string) => ({ call: "Write", args: { path, content: "x\n" } });

/** A directory that commands can see, so that an attempt on it fails for the right reason: /tmp is private to each. */
function outside(): string {
  const place = mkdtempSync(join(process.getuid?.() === 0 ? "/srv" : homedir(), "ferret-outside-"));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  writeFileSync(join(place, "canary"), "alive\n");
  return place;
}

describe("escapes through the shell tool, everything approved", confined, () => {
  test.each(["read-only", "workspace-write"])("none in %s", async (mode) => {
    const place = outside();
    const reached: string[] = [];
    const listener = createServer((socket) => void reached.push(socket.remoteAddress ?? "")).listen(0, "127.0.0.1");
    onTestFinished(() => void listener.close());
    await once(listener, "listening");
    const { port } = listener.address() as { port: number };
    const home = scratchTree({ "secret.json": "state-of-the-program" });
    const attempts = [
      `echo x >> ${place}/canary`,
      `ln -sf ${place}/canary soft; echo x > soft`,
      `ln ${place}/canary hard && echo x > hard`,
      `echo x > /proc/self/root${place}/new`,
      `mount -o remount,bind,rw / ; echo x > ${place}/new`,
      `unshare -Ur sh -c 'echo x > ${place}/new'`,
      `python3 -c "import socket;socket.create_connection(('127.0.0.1',${port}))"`,
      `cat ${home}/secret.json; env; cat /proc/1/environ`,
      `mkdir -p .git/hooks && echo 'touch ${place}/new' > .git/hooks/pre-commit`,
      "mkdir -p .opencode && echo {} > .opencode/mcp.json",
      `(setsid sh -c 'sleep 1; echo x > ${place}/late; echo x > late' &) `,
    ];
    const peer = await ferretPeer(["--sandbox", mode, "--approval", "full"], [attempts.map(bash)], {
      CHIMERA_HOME: home,
      OPENAI_API_KEY: "key-of-the-program",
    });
    await peer.prompt();
    await new Promise((resolve) => setTimeout(resolve, 1200));
    const results = peer.kind("tool_call_end").map(({ result }) => result);
    expect(results).toHaveLength(attempts.length);
    expect(results.join("")).not.toContain("state-of-the-program");
    expect(results.join("")).not.toContain("key-of-the-program");
    expect(readFileSync(join(place, "canary"), "utf8")).toBe("alive\n");
    expect(["new", "late"].filter((name) => existsSync(join(place, name)))).toEqual([]);
    expect(existsSync(join(peer.program.cwd, "late"))).toBe(false);
    expect(existsSync(join(peer.program.cwd, ".git/hooks/pre-commit"))).toBe(false);
    expect(existsSync(join(peer.program.cwd, ".opencode/mcp.json"))).toBe(false);
    expect(reached).toEqual([]);
    expect(peer.kind("sandbox_violation").length).toBeGreaterThan(0);
    expect(peer.kind("turn_end")).toEqual([expect.objectContaining({ stop_reason: "end_turn" })]);
  });

  test.each([
    ["read-only", "touch made.txt", "made.txt"],
    ["read-only", "mkdir -p a/b", "a"],
    ["workspace-write", "echo x > {OUT}/new", "{OUT}/new"],
    ["workspace-write", "node -e 'fs.writeFileSync(`{OUT}/new`, ``)'", "{OUT}/new"],
    ["workspace-write", "echo x > .opencode/mcp.json", ".opencode/mcp.json"],
    ["workspace-write", "exec 3<>/dev/tcp/192.0.2.1/80", undefined],
  ])("in %s the violation of %s names what could not be written", async (mode, attempt, named) => {
    const place = outside();
    const [command, path] = [attempt, named].map((text) => text?.replace("{OUT}", place)) as [string, string?];
    const peer = await ferretPeer(["--sandbox", mode, "--approval", "full"], [[bash(command)]]);
    await peer.prompt();
    const [violation] = peer.kind("sandbox_violation");
    expect(violation).toMatchObject({ tool: "Bash", command, mode, reason: expect.any(String) });
    expect(violation.path).toBe(path && resolve(peer.program.cwd, path));
  });

  test("and the log says what confines it", async () => {
    const peer = await ferretPeer(["--approval", "full"], [[bash("true")]]);
    await peer.prompt();
    const said = /commands are confined by (bubblewrap|util-linux|seatbelt) \d+\./;
    await expect.poll(() => peer.program.stderr(), { timeout: 5000 }).toMatch(said);
  });

  test("and the work that a mode allows is done", confinedGit, async () => {
    const commands = ["echo made > made.txt && cat made.txt", "git --version", "node -e 'console.log(6*7)'"];
    const peer = await ferretPeer(["--sandbox", "workspace-write", "--approval", "full"], [commands.map(bash)]);
    await peer.prompt();
    expect(peer.kind("tool_call_end").map(({ success }) => success)).toEqual([true, true, true]);
    expect(readFileSync(join(peer.program.cwd, "made.txt"), "utf8")).toBe("made\n");
    expect(peer.kind("sandbox_violation")).toEqual([]);
  });

  test("a repository planted for git to stumble over is reported, an honest one is not", confinedGit, async () => {
    const commands = [
      "git init -q honest && git -C honest config user.name me",
      "git init -q --bare trap && git -C trap config core.fsmonitor ./run-me; echo 'Read-only file system' >&2",
      "ls trap",
    ];
    const peer = await ferretPeer(["--sandbox", "workspace-write", "--approval", "full"], [commands.map(bash)]);
    await peer.prompt();
    expect(peer.kind("tool_call_end").map(({ success }) => success)).toEqual([true, true, true]);
    expect(peer.kind("sandbox_violation")).toEqual([
      expect.objectContaining({
        tool: "Bash",
        command: commands[1],
        path: join(peer.program.cwd, "trap"),
        reason: "it made trap a repository that runs programs when git looks at it: fsmonitor = ./run-me",
      }),
    ]);
  });
});

test("a repository planted by a command that is cancelled is reported too", confinedGit, async () => {
  const command = "git init -q --bare trap && git -C trap config core.fsmonitor ./run-me; echo planted; sleep 60";
  const peer = await ferretPeer(["--sandbox", "workspace-write", "--approval", "full"], [[bash(command)]]);
  const reply = peer.prompt();
  await peer.find(({ params }) => JSON.stringify(params ?? {}).includes("planted\\n"));
  await peer.ask("session/cancel");
  await reply;
  expect(peer.kind("sandbox_violation")).toEqual([
    expect.objectContaining({ command, reason: expect.stringContaining("it made trap a repository") }),
  ]);
});

describe("file tools", () => {
  test.each([
    ["read-only", "inside.txt"],
    ["workspace-write", "/srv/outside.txt"],
    ["workspace-write", "../outside.txt"],
    ["workspace-write", "link/outside.txt"],
    ["workspace-write", ".git/hooks/pre-commit"],
    ["workspace-write", ".opencode/config.json"],
    ["workspace-write-network", ".chimera/config.json"],
  ])("in %s a write of %s is a violation, not a crash", async (mode, path) => {
    const peer = await ferretPeer(["--sandbox", mode, "--approval", "full"], [[write(path)]]);
    symlinkSync(outside(), join(peer.program.cwd, "link"));
    expect((await peer.prompt()).result.stopReason).toBe("end_turn");
    expect(peer.kind("sandbox_violation")).toEqual([
      expect.objectContaining({ tool: "Write", mode, path: expect.any(String), reason: expect.any(String) }),
    ]);
    expect(peer.kind("tool_call_end")).toEqual([expect.objectContaining({ success: false })]);
    expect(peer.kind("permission_request")).toEqual([]);
    expect(existsSync(join(peer.program.cwd, path))).toBe(false);
  });

  test.each(["its home", "--store"])("the program's own state in %s cannot be read", async (where) => {
    const home = scratchTree({ "eventlog/other/summary.json": "private" });
    const path = join(home, "eventlog/other/summary.json");
    const search = { call: "search", args: { pattern: "private", path: dirname(home) } };
    const [args, env] = where === "--store" ? [["--store", `file:${home}`], {}] : [[], { CHIMERA_HOME: home }];
    const peer = await ferretPeer(["--approval", "full", ...args], [[{ call: "Read", args: { path } }, search]], env);
    await peer.prompt();
    expect(peer.kind("sandbox_violation").map(({ tool }) => tool)).toEqual(["Read", "search"]);
  });

  test("a further directory belongs to the workspace", async () => {
    const more = outside();
    const peer = await ferretPeer(["--full-auto", "--add-dir", more], [[write(join(more, "new.txt"))]]);
    await peer.prompt();
    expect(peer.kind("tool_call_end")).toEqual([expect.objectContaining({ success: true })]);
    expect(existsSync(join(more, "new.txt"))).toBe(true);
  });
});

/** An MCP server with one tool, which writes to the path it gets. */
const SERVER = `
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "demo" } }),
  "tools/list": () => ({ tools: [{ name: "write", inputSchema: { type: "object" } }] }),
  "tools/call": ({ arguments: { path } }) => {
    try {
      writeFileSync(path, "x");
      return { content: [{ type: "text", text: "written" }] };
    } catch ({ code }) {
      return { isError: true, content: [{ type: "text", text: code }] };
    }
  },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method](params) }));
});
`;

test("an MCP server is confined like a command", confined, async () => {
  const place = outside();
  const cwd = scratchTree({ "server.mjs": SERVER });
  const demo = { command: process.execPath, args: [join(cwd, "server.mjs")] };
  const mcp = join(scratchTree({ "mcp.json": { mcpServers: { demo } } }), "mcp.json");
  const calls = [join(place, "new"), join(cwd, "inside.txt")].map((path) => ({
    call: "mcp__demo__write",
    args: { path },
  }));
  const peer = await ferretPeer(
    ["--cwd", cwd, "--sandbox", "workspace-write", "--approval", "full", "--mcp", mcp],
    [calls],
  );
  await peer.prompt();
  const [beyond, inside] = peer.kind("tool_call_end").map(({ result }) => result);
  // A place below the temporary directory is not even there: a command has one of its own.
  expect(["EROFS", "ENOENT"]).toContain(beyond);
  expect(inside).toBe("written");
  expect(existsSync(join(place, "new"))).toBe(false);
});

describe("without an operating system's wall", () => {
  test("auto refuses commands, with the way out, and says so once more in the log", async () => {
    const peer = await ferretPeer(
      ["--approval", "full"],
      [[bash("ls"), { call: "Read", args: { path: "README.md" } }]],
      { PATH: scratchTree({}) },
    );
    await peer.prompt();
    const [command, read] = peer.kind("tool_call_end");
    expect(command).toMatchObject({ success: false, result: expect.stringContaining("bubblewrap") });
    expect(read).toMatchObject({ success: true });
    expect(peer.kind("sandbox_violation")).toEqual([expect.objectContaining({ tool: "Bash", command: "ls" })]);
    const refused = "commands will be refused: no bwrap on PATH; no unshare on PATH";
    await expect.poll(() => peer.program.stderr(), { timeout: 5000 }).toContain(refused);
  });

  test("off is a choice: read-only still refuses a command that does more than read", async () => {
    const peer = await ferretPeer(
      ["--os-sandbox", "off", "--approval", "full"],
      [[bash("cat README.md"), bash("touch made.txt")]],
    );
    expect(peer.program.stderr()).toContain("WARNING");
    await peer.prompt();
    expect(peer.kind("tool_call_end").map(({ success }) => success)).toEqual([true, false]);
    expect(existsSync(join(peer.program.cwd, "made.txt"))).toBe(false);
  });
});

describe("settings", () => {
  const modeOf = async (args: string[], env: Record<string, string> = {}) =>
    (await (await ferretPeer(args, [], env)).ask("session/setSandbox")).result.mode;

  test("a flag beats the environment, which beats the config, which beats the default", async () => {
    const home = scratchTree({ "config.json": { sandbox: "workspace-write-network" } });
    expect(await modeOf([])).toBe("read-only");
    expect(await modeOf([], { CHIMERA_HOME: home })).toBe("workspace-write-network");
    expect(await modeOf([], { CHIMERA_HOME: home, FERRET_SANDBOX: "workspace_write" })).toBe("workspace-write");
    expect(await modeOf(["--sandbox", "off"], { CHIMERA_HOME: home, FERRET_SANDBOX: "read-only" })).toBe("off");
  });

  test("a project can only make it stricter", async () => {
    const strict = scratchTree({ ".chimera/config.json": { sandbox: "read-only", approval: "read-only" } });
    const loose = scratchTree({ ".chimera/config.json": { sandbox: "off", approval: "full" } });
    const home = scratchTree({ "config.json": { sandbox: "workspace-write" } });
    expect(await modeOf(["--cwd", strict], { CHIMERA_HOME: home })).toBe("read-only");
    expect(await modeOf(["--cwd", loose], { CHIMERA_HOME: home })).toBe("workspace-write");
  });

  test("a session is held to the project of its own directory, whatever the program was started for", async () => {
    const config = { sandbox: "read-only", approval: "read-only" };
    const strict = scratchTree({ ".chimera/config.json": config, "a.txt": "a" });
    const loose = scratchTree({ ".chimera/config.json": { sandbox: "off", approval: "full" } });
    const home = scratchTree({ "config.json": { sandbox: "workspace-write", approval: "auto" } });
    const turns = [[write("made.txt")], [write("made.txt")]];
    const peer = await ferretPeer([], turns, { CHIMERA_HOME: home });
    const open = async (cwd: string) => (await peer.request("session/new", { cwd })).result.sessionId as string;
    const [bound, free] = [await open(strict), await open(loose)];
    const modeOf = async (sessionId: string) => (await peer.request("session/setSandbox", { sessionId })).result.mode;
    expect([await modeOf(peer.sessionId), await modeOf(bound), await modeOf(free)]).toEqual([
      "workspace-write",
      "read-only",
      "workspace-write",
    ]);
    const wider = await peer.request("session/setApproval", { sessionId: bound, preset: "full" });
    expect(wider.error?.message).toContain("allows approval read-only at most");
    const switched = await peer.request("session/setApproval", { sessionId: free, preset: "full" });
    expect(switched.result).toEqual({ old: "auto", new: "full" });
    for (const sessionId of [bound, free]) await peer.request("session/message", { sessionId, message: "go" });
    expect(existsSync(join(strict, "made.txt"))).toBe(false);
    expect(existsSync(join(loose, "made.txt"))).toBe(true);
    // An unreadable file leaves only the strictest settings.
    writeFileSync(join(loose, ".chimera/config.json"), "{");
    expect(await modeOf(free)).toBe("read-only");
  });

  test("--yolo is loud", async () => {
    const peer = await ferretPeer(["--yolo"], [[bash("touch made.txt")]]);
    expect(peer.program.stderr().match(/WARNING/g)).toHaveLength(2);
    await peer.prompt();
    expect(existsSync(join(peer.program.cwd, "made.txt"))).toBe(true);
  });

  test.each([
    [["--sandbox", "open"], "read-only"],
    [["--approval", "sometimes"], "read-only, auto, full"],
    [["--os-sandbox", "maybe"], "auto, on, off"],
    [["--add-dir", "/nowhere/at/all"], "/nowhere/at/all"],
  ])("%j is a usage error that names the way out", async (args, named) => {
    const program = startProgram("ferret", ["serve", ...args]);
    expect(await program.exited).toBe(2);
    expect(program.stderr()).toContain(named);
  });
});

describe("a task of another agent", confined, () => {
  /** A home whose agent `helper` follows a script. */
  const withHelper = (...calls: readonly object[]): Record<string, string> => {
    const steps = [...calls.map((call) => ({ reply: [call] })), { reply: [{ text: "Done." }] }];
    const script = join(scratchTree({ "inner.json": { turns: [{ steps }] } }), "inner.json");
    const helper = `---\nmode: subagent\nmodel: scripted:${script}\n---\nHelp.`;
    return { HOME: scratchTree({ ".chimera/agent/helper.md": helper }) };
  };
  const task = { call: "task", args: { prompt: "Do it", agent: "helper" } };

  test("runs its commands where it may write no more than the session", async () => {
    const place = outside();
    const env = withHelper(bash(`echo x >> ${place}/canary`), bash("echo x > inside.txt"));
    const peer = await ferretPeer(["--sandbox", "workspace-write", "--approval", "full"], [[task]], env);
    await peer.prompt();
    expect(readFileSync(join(place, "canary"), "utf8")).toBe("alive\n");
    expect(readFileSync(join(peer.program.cwd, "inside.txt"), "utf8")).toBe("x\n");
    expect(peer.kind("sandbox_violation")).toMatchObject([{ tool: "Bash", path: join(place, "canary") }]);
  });

  test("has its edits and what its commands wrote taken back by one undo", async () => {
    const edit = { call: "Edit", args: { path: "README.md", old_string: "# A workspace", new_string: "# Another" } };
    const peer = await ferretPeer(
      ["--sandbox", "workspace-write", "--approval", "full"],
      [[task]],
      withHelper(edit, write("made.txt"), bash("echo x > run.txt")),
    );
    const inside = (name: string) => join(peer.program.cwd, name);
    await peer.prompt();
    expect(readFileSync(inside("README.md"), "utf8")).toBe("# Another\n");
    expect(["made.txt", "run.txt"].filter((name) => existsSync(inside(name)))).toEqual(["made.txt", "run.txt"]);
    await peer.prompt("/undo");
    expect(readFileSync(inside("README.md"), "utf8")).toBe("# A workspace\n");
    expect(["made.txt", "run.txt"].filter((name) => existsSync(inside(name)))).toEqual([]);
  });
});
