// The safety settings of a configuration: how a session opens, and what then happens in it.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type EditorOptions, rejectOnce, startEditor } from "./editor.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";
import { startServer } from "./server.js";

type Safety = readonly [readOnly: boolean, writes: boolean, execute: boolean];
type Opened = readonly [mode: string, autoApproveWrites: boolean, autoApproveExecute: boolean, readOnly: boolean];

const settingsOf = ([read_only, require_approval_for_writes, require_approval_for_execute]: Safety) => ({
  safety: { read_only, require_approval_for_writes, require_approval_for_execute },
});

const TABLE: [Safety, Opened][] = [
  [
    [true, true, true],
    ["read-only", false, false, true],
  ],
  [
    [true, false, false],
    ["read-only", false, false, true],
  ],
  [
    [true, false, true],
    ["read-only", false, false, true],
  ],
  [
    [false, true, true],
    ["review", false, false, false],
  ],
  [
    [false, false, false],
    ["auto", true, true, false],
  ],
  [
    [false, true, false],
    ["review", false, true, false],
  ],
  [
    [false, false, true],
    ["review", true, false, false],
  ],
];

/** The updates that an editor gets when a session is made, loaded or resumed. */
function opened(result: { modes: { currentModeId: string }; configOptions: { id: string; currentValue: unknown }[] }) {
  const value = (id: string) => result.configOptions.find((option) => option.id === id)?.currentValue;
  const values = ["auto_approve_writes", "auto_approve_execute", "read_only"].map(value);
  return [result.modes.currentModeId, ...values];
}

const editorWith = (config: object, options: EditorOptions = {}) =>
  startEditor({
    clientCapabilities: { session: { configOptions: { boolean: {} } } },
    ...options,
    home: scratchTree({ "config.json": config }),
  });

const turns = [
  { steps: [{ reply: [{ call: "Write", args: { path: "note.txt", content: "x" } }] }, { reply: [{ text: "Done." }] }] },
  { steps: [{ reply: [{ call: "Bash", args: { command: "touch made.txt" } }] }, { reply: [{ text: "Done." }] }] },
];

describe("a session opens", () => {
  test.each(TABLE)("with %j as %j, made and loaded", async (safety, expected) => {
    const editor = await editorWith(settingsOf(safety));
    const { sessionId, ...made } = await editor.open();
    expect(opened(made)).toEqual(expected);
    await editor.request("session/set_mode", { sessionId, modeId: expected[0] === "auto" ? "review" : "auto" });
    await editor.request("session/close", { sessionId });
    const params = { sessionId, cwd: editor.program.cwd, mcpServers: [] };
    expect(opened((await editor.request("session/load", params)).result)).toEqual(expected);
  });

  test("without a word in the configuration, or with part of it, as the defaults say", async () => {
    const nothing = await editorWith({});
    expect(opened(await nothing.open())).toEqual(["review", false, false, false]);
    const part = await editorWith({ safety: { require_approval_for_writes: false } });
    expect(opened(await part.open())).toEqual(["review", true, false, false]);
  });

  test("in ferret too, within its preset", async () => {
    const ferret = { name: "ferret", command: ["acp"], args: ["--approval", "full"] } as const;
    const editor = await editorWith(settingsOf([false, false, false]), { ...ferret, args: [...ferret.args] });
    expect(opened(await editor.open())).toEqual(["auto", true, true, false]);
    const reader = await editorWith(settingsOf([true, false, false]), { ...ferret, args: [...ferret.args] });
    expect(opened(await reader.open())).toEqual(["read-only", false, false, true]);
  });

  test("of a project stricter than the user's, and never looser", async () => {
    const editor = await editorWith(settingsOf([false, false, false]));
    const project = (config: object) => {
      const cwd = scratchTree({ ".chimera/config.json": config });
      return editor.open({ cwd });
    };
    expect(opened(await project({ safety: { read_only: true } }))).toEqual(["read-only", false, false, true]);
    expect(opened(await project({ safety: { require_approval_for_execute: true } }))).toEqual([
      "review",
      true,
      false,
      false,
    ]);
    const careful = await editorWith({});
    mkdirSync(join(careful.program.cwd, ".chimera"));
    writeFileSync(
      join(careful.program.cwd, ".chimera", "config.json"),
      JSON.stringify(settingsOf([false, false, false])),
    );
    expect(opened(await careful.open())).toEqual(["review", false, false, false]);
  });
});

describe("what happens in it", () => {
  const effects: [Safety, asked: string[], happens: boolean[]][] = [
    [[true, false, false], [], [false, false]],
    [
      [false, true, true],
      ["edit", "execute"],
      [false, false],
    ],
    [[false, false, false], [], [true, true]],
    [[false, true, false], ["edit"], [false, true]],
    [[false, false, true], ["execute"], [true, false]],
  ];
  test.each(effects)("with %j, %j is asked for and %j done", async (safety, asked, happens) => {
    const answers = { "session/request_permission": rejectOnce };
    const editor = await editorWith(settingsOf(safety), { turns, answers });
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "write");
    await editor.prompt(sessionId, "run");
    expect(editor.asked("session/request_permission").map(({ toolCall }) => toolCall.kind)).toEqual(asked);
    expect(["note.txt", "made.txt"].map((name) => existsSync(join(editor.program.cwd, name)))).toEqual(happens);
  });

  test("over HTTP as well", async () => {
    const home = scratchTree({ "config.json": settingsOf([false, false, false]) });
    const script = scratchTree({ "script.json": { turns } });
    const server = await startServer(["--model", `scripted:${script}/script.json`], {}, { home });
    await server.run("write");
    expect(existsSync(join(server.program.cwd, "note.txt"))).toBe(true);
  });
});

test("a person's read-only outlives the eviction of an idle session, though the configuration says auto", async () => {
  const answers = { "session/request_permission": rejectOnce };
  const editor = await editorWith(settingsOf([false, false, false]), {
    turns,
    answers,
    args: ["--session-ttl", "0.2"],
  });
  const { sessionId } = await editor.open();
  await editor.request("session/set_mode", { sessionId, modeId: "read-only" });
  await new Promise((resolve) => setTimeout(resolve, 700));
  // Whatever is asked of the sessions unloads the idle ones.
  await editor.open();
  await editor.prompt(sessionId, "write");
  expect(existsSync(join(editor.program.cwd, "note.txt"))).toBe(false);
  const params = { sessionId, cwd: editor.program.cwd, mcpServers: [] };
  expect(opened((await editor.request("session/resume", params)).result)).toEqual(["read-only", false, false, true]);
});

describe("init", () => {
  const run = async (name: "otter" | "ferret", args: string[], home: string) => {
    const program = startProgram(name, args, {}, { home });
    let stdout = "";
    program.child.stdout.on("data", (bytes) => {
      stdout += String(bytes);
    });
    return { code: await program.exited, stdout, stderr: program.stderr() };
  };

  test.each(["otter", "ferret"] as const)("%s writes a configuration that asks for both", async (name) => {
    const home = join(scratchTree({}), "new", "home");
    const path = join(home, "config.json");
    expect(await run(name, ["init"], home)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(path),
      stderr: "",
    });
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(settingsOf([false, true, true]));
    expect([home, path].map((one) => statSync(one).mode & 0o777)).toEqual([0o700, 0o600]);
    const editor = await startEditor({ clientCapabilities: { session: { configOptions: { boolean: {} } } }, home });
    expect(opened(await editor.open())).toEqual(["review", false, false, false]);
    const { stdout } = await run(name, ["config", "--json"], home);
    expect(JSON.parse(stdout).problems).toEqual([]);
  });

  test("an existing configuration stays unchanged", async () => {
    const home = scratchTree({ "config.json": '{"model": "offline"}' });
    const { code, stdout, stderr } = await run("otter", ["init"], home);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("exists already and stays unchanged");
    expect(readFileSync(join(home, "config.json"), "utf8")).toBe('{"model": "offline"}');
  });
});

test.each([
  ['{"safety": true}', "safety takes an object of settings, not true"],
  ['{"safety": ["read_only"]}', "safety takes an object of settings"],
  ['{"safety": {"read_only": "yes"}}', 'safety.read_only takes true or false, not "yes"'],
  ['{"safety": {"require_approval_for_writes": 0}}', "safety.require_approval_for_writes takes true or false, not 0"],
])("%s is refused at start", async (text, message) => {
  const home = scratchTree({ "config.json": text });
  const program = startProgram("otter", ["serve", "--acp"], {}, { home });
  expect(await program.exited).toBe(2);
  expect(program.stderr()).toContain(message);
});
