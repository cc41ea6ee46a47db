// A built program driven as an editor drives it, with every frame both ways held to the official schema.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { createOracle } from "@chimera/acp-schema/oracle";
import type { Frame } from "../peer.js";
import { repositoryRoot } from "../scratch.js";

export type ProgramName = "otter" | "ferret";

export interface LaunchOptions {
  /** @defaultValue "acp" */
  readonly command?: "acp" | "serve";
  readonly args?: readonly string[];
  /** The model's replies, in the format of the scripted provider. */
  readonly script?: object;
  /** Kept from an earlier launch. */
  readonly home?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Editor {
  readonly child: ChildProcessWithoutNullStreams;
  readonly cwd: string;
  readonly home: string;
  readonly exited: Promise<number | null>;
  stderr(): string;
  /** Every line of stdout, and what it says. */
  readonly lines: string[];
  readonly frames: Frame[];
  /** The errors of a strict reader of the unstable v1 schema. */
  problems(): string[];
  start(method: string, params?: unknown): { readonly id: number; readonly answer: Promise<Frame> };
  request(method: string, params?: unknown): Promise<Frame>;
  notify(method: string, params?: unknown): void;
  send(line: string): void;
  /** Answers the agent's requests; undefined leaves one open. */
  answer(handler: (frame: Frame) => unknown): void;
  /** The first frame that fits, of those that came and those that come. */
  find(fits: (frame: Frame) => boolean): Promise<Frame>;
  /** Ends the process if it runs, and removes what was made for it. */
  dispose(): Promise<void>;
}

let oracle: ReturnType<typeof createOracle> | undefined;

export function launch(program: ProgramName, options: LaunchOptions = {}): Editor {
  const made: string[] = [];
  const folder = (files: Record<string, string>) => {
    const root = mkdtempSync(join(tmpdir(), "chimera-editor-"));
    made.push(root);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return root;
  };
  const cwd = options.cwd ?? folder({ "README.md": "# A workspace\n", "src/main.js": "export {};\n" });
  const home = options.home ?? folder({});
  const script = options.script && join(folder({ "script.json": JSON.stringify(options.script) }), "script.json");
  const model = script ? ["--model", `scripted:${script}`] : [];
  const cli = join(repositoryRoot, "apps", program, "dist", "cli.js");
  const command = options.command === "serve" ? ["serve", "--acp"] : ["acp"];
  const child = spawn(process.execPath, [cli, ...command, ...model, ...(options.args ?? [])], {
    cwd: "/",
    env: { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: join(home, "data"), ...options.env },
  });
  oracle ??= createOracle({ unstable: true, allow: ["session/set_model"] });
  return editorOf(child, oracle.conversation(), cwd, home, () => {
    for (const root of made) rmSync(root, { recursive: true, force: true });
  });
}

// --- internal ---

function editorOf(
  child: ChildProcessWithoutNullStreams,
  conversation: ReturnType<ReturnType<typeof createOracle>["conversation"]>,
  cwd: string,
  home: string,
  clean: () => void,
): Editor {
  const lines: string[] = [];
  const frames: Frame[] = [];
  const problems: string[] = [];
  const watching = new Set<(frame: Frame) => void>();
  const waiting = new Map<unknown, (frame: Frame) => void>();
  let stderr = "";
  let handler: (frame: Frame) => unknown = () => undefined;
  let lastId = 0;
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  // A write to a program that has ended needs no report: its exit does that.
  child.stdin.on("error", () => {});
  const exited = once(child, "close").then(([code]) => code as number | null);

  const judge = (sender: "agent" | "client", line: string) => {
    for (const problem of conversation.next(sender, line))
      problems.push(`${sender}: ${problem}: ${line.slice(0, 400)}`);
  };
  const send = (line: string) => {
    judge("client", line);
    child.stdin.write(`${line}\n`);
  };
  createInterface({ input: child.stdout }).on("line", async (line) => {
    lines.push(line);
    judge("agent", line);
    const frame = JSON.parse(line) as Frame;
    frames.push(frame);
    for (const look of [...watching]) look(frame);
    if (frame.method === undefined) waiting.get(frame.id)?.(frame);
    if (frame.method === undefined || frame.id === undefined) return;
    const answer = await handler(frame);
    if (answer !== undefined) send(JSON.stringify({ jsonrpc: "2.0", id: frame.id, result: answer }));
  });
  const find = (fits: (frame: Frame) => boolean) =>
    new Promise<Frame>((resolve) => {
      const seen = frames.find(fits);
      if (seen) return resolve(seen);
      const look = (frame: Frame) => {
        if (!fits(frame)) return;
        watching.delete(look);
        resolve(frame);
      };
      watching.add(look);
    });
  const start: Editor["start"] = (method, params) => {
    const id = ++lastId;
    const answer = new Promise<Frame>((resolve) => waiting.set(id, resolve));
    send(JSON.stringify({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) }));
    return { id, answer };
  };
  return {
    child,
    cwd,
    home,
    exited,
    stderr: () => stderr,
    lines,
    frames,
    problems: () => problems,
    start,
    request: (method, params) => start(method, params).answer,
    notify: (method, params) => send(JSON.stringify({ jsonrpc: "2.0", method, params })),
    send,
    answer(handle) {
      handler = handle;
    },
    find,
    async dispose() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exited;
      clean();
    },
  };
}

/** Shakes hands and opens a session. */
export async function openSession(editor: Editor, clientCapabilities: object = {}): Promise<string> {
  await editor.request("initialize", { protocolVersion: 1, clientCapabilities });
  const { result } = await editor.request("session/new", { cwd: editor.cwd, mcpServers: [] });
  return result.sessionId;
}

export const textPrompt = (sessionId: string, text: string) => ({ sessionId, prompt: [{ type: "text", text }] });

export const updateKind = (frame: Frame): string | undefined =>
  frame.method === "session/update" ? frame.params.update.sessionUpdate : undefined;
