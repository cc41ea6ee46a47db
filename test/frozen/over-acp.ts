// Sessions over stdio: otter and ferret in standard ACP and in their native dialects.
import { once } from "node:events";
import { type Editor, startEditor } from "../editor.js";
import { connect, type Peer } from "../peer.js";
import { startProgram } from "../program.js";
import { bash, call, type Made, model, say, turn, workspace, write } from "./made.js";
import { HOME } from "./place.js";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LONG = Array.from({ length: 3100 }, (_, n) => `line ${String(n).padStart(4, "0")}\n`).join("");
const usage = { usage: { input: 1200, output: 80, cacheRead: 300, reasoning: 12 } };

export async function makeOverAcp(made: Made): Promise<void> {
  await standardOtter(made);
  await nativeOtter(made);
  await standardFerret(made);
  await nativeFerret(made);
}

// --- internal ---

const home = (cwd: string) => ({ home: HOME, cwd });

async function close({ program }: Peer): Promise<void> {
  program.child.stdin.end();
  if (program.child.exitCode === null) await once(program.child, "close");
}

async function standardOtter(made: Made): Promise<void> {
  const editor = await startEditor({
    ...home(workspace("editor")),
    clientCapabilities: { session: { notices: {} }, terminal: true },
    answers: {
      "terminal/create": ({ command }) => ({ terminalId: command }),
      "terminal/wait_for_exit": () => ({ exitCode: 0 }),
      "terminal/output": ({ terminalId }) => ({
        output: terminalId === "count" ? LONG : "in the editor\n",
        truncated: false,
        exitStatus: { exitCode: 0 },
      }),
      "terminal/release": () => ({}),
    },
  });
  made.set("unprompted", (await editor.open({ cwd: workspace("unprompted") })).sessionId);
  await settingsChanged(editor, made);
  await everyKindOfUpdate(editor, made);
  await longOutput(editor, made);
  await close(editor);
}

/** Model, mode, agent, flags and title, before and after a turn. */
async function settingsChanged(editor: Editor, made: Made): Promise<void> {
  const { sessionId } = await editor.open({ cwd: workspace("settings") });
  made.set("settings", sessionId);
  const set = (configId: string, value: unknown) =>
    editor.request("session/set_config_option", { sessionId, configId, value });
  await editor.request("session/set_mode", { sessionId, modeId: "read-only" });
  await editor.prompt(sessionId, "list files");
  await editor.request("session/set_model", { sessionId, modelId: model("settings", [turn(write("a.txt", "1\n"))]) });
  await set("agent", "plan");
  await set("mode", "auto");
  await editor.request("session/set_title", { sessionId, title: "Settings, changed" });
  await editor.prompt(sessionId, "go on");
  await editor.request("session/set_mode", { sessionId, modeId: "read-only" });
}

/** Pictures and links in a prompt; thoughts, a plan, progress, a terminal, prices, more output than a model may read. */
async function everyKindOfUpdate(editor: Editor, made: Made): Promise<void> {
  const { sessionId } = await editor.open({
    cwd: workspace("updates"),
    mcpServers: [{ name: "broken", command: "/does/not/exist", args: [], env: [] }],
  });
  made.set("updates", sessionId);
  const todos = [
    { content: "look", status: "completed" },
    { content: "write", status: "in_progress", priority: "high" },
  ];
  const turns = [
    {
      steps: [
        { reply: [{ thought: "What is this picture?", chunks: 2 }, say("A pixel. "), call("todo", { todos }), usage] },
        { reply: [write("note.txt", "a pixel\n"), call("Read", { path: "README.txt" }), usage] },
        { reply: [say("Naïve café: 😀 done."), usage] },
      ],
    },
    turn(bash("sh -c 'echo one; echo two >&2'"), usage),
    turn(call("acp_terminal", { command: "look" })),
    turn(call("Edit", { path: "missing.txt", old_string: "a", new_string: "b" }), call("NoSuchTool", {}), usage),
  ];
  await editor.request("session/set_model", {
    sessionId,
    modelId: model("updates", turns, { price: { input: 1, output: 5 } }),
  });
  await editor.prompt(sessionId, [
    { type: "text", text: "What is this?" },
    { type: "image", data: PIXEL, mimeType: "image/png" },
    { type: "resource_link", uri: "file:///README.txt", name: "README.txt" },
    { type: "resource", resource: { uri: "file:///note", text: "a note", mimeType: "text/plain" } },
  ]);
  await editor.prompt(sessionId, "run it");
  await editor.prompt(sessionId, "run it in the editor");
  await editor.prompt(sessionId, "this goes wrong");
}

/** Output that is too long for the model is stored in a file beside the logs. */
async function longOutput(editor: Editor, made: Made): Promise<void> {
  const { sessionId } = await editor.open({ cwd: workspace("long-output") });
  made.set("long-output", sessionId);
  const modelId = model("long-output", [turn(call("acp_terminal", { command: "count" }))]);
  await editor.request("session/set_model", { sessionId, modelId });
  await editor.prompt(sessionId, "count");
}

/** The native dialect asks, and is answered; a command streams what it prints. */
async function nativeOtter(made: Made): Promise<void> {
  const cwd = workspace("native", { "README.txt": "native\n" });
  const peer = connect(startProgram("otter", ["serve", "--acp", "--no-coalesce"], {}, home(cwd)));
  await peer.request("initialize", {});
  const turns = [
    turn(bash("for i in 1 2 3; do echo $i; sleep 0.02; done")),
    turn(bash("touch refused.txt")),
    { steps: [{ reply: [say("The last word.")] }] },
  ];
  const { result } = await peer.request("session/new", { model: model("native", turns) });
  made.set("native", result.sessionId);
  for (const [n, decision] of ["allow", "deny", null].entries()) {
    const answered = peer.request("session/message", { sessionId: result.sessionId, message: `turn ${n}` });
    if (decision) await decide(peer, n, decision);
    await answered;
  }
  const forked = await peer.request("session/fork", { sessionId: result.sessionId });
  made.set("native-fork", forked.result.sessionId);
  await close(peer);
}

async function decide(peer: Peer, nth: number, decision: string): Promise<void> {
  const asked = () => peer.frames.filter(({ params }) => params?.update?.sessionUpdate === "permission_request");
  await peer.find(() => asked().length > nth);
  const { requestId } = asked()[nth]!.params.update;
  await peer.request("permission/respond", { requestId, reply: decision });
}

/** Approval presets, a write that the sandbox stops, edits that can be taken back. */
async function standardFerret(made: Made): Promise<void> {
  const cwd = workspace("ferret", { "a.txt": "zero\n" });
  const turns = [turn(write("a.txt", "1\n")), turn(write("../outside.txt", "1\n")), turn(write("b.txt", "1\n"))];
  const args = ["--sandbox", "workspace-write", "--os-sandbox", "off", "--model", model("ferret", turns)];
  const editor = await startEditor({ ...home(cwd), name: "ferret", args });
  const { sessionId } = await editor.open();
  made.set("ferret", sessionId);
  await editor.prompt(sessionId, "turn 0");
  await editor.request("session/set_config_option", { sessionId, configId: "approval", value: "auto" });
  await editor.prompt(sessionId, "turn 1");
  await editor.prompt(sessionId, "turn 2");
  await editor.request("_chimera.dev/session/undo", { sessionId });
  await close(editor);
}

async function nativeFerret(made: Made): Promise<void> {
  const cwd = workspace("ferret-native", { "a.txt": "zero\n" });
  const using = [
    "--model",
    model("ferret-native", [turn(write("a.txt", "1\n"), usage), turn(call("Read", { path: "a.txt" }))]),
  ];
  const peer = connect(startProgram("ferret", ["serve", "--full-auto", ...using], {}, home(cwd)));
  await peer.request("initialize", {});
  const { result } = await peer.request("session/new", {});
  made.set("ferret-native", result.sessionId);
  for (const message of ["turn 0", "turn 1"])
    await peer.request("session/message", { sessionId: result.sessionId, message });
  await close(peer);
}
