// An editor at the other end of stdio: standard ACP v1 by hand, with answers to what the agent asks.
import { onTestFinished } from "vitest";
import { connect, type Frame, type Peer } from "./peer.js";
import { type Surroundings, startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

// biome-ignore lint/suspicious/noExplicitAny: params and results are whatever arrived; each test says what it expects.
type Loose = any;

export interface Editor extends Peer {
  /** The answer to initialize. */
  readonly hello: Loose;
  /** Requests of the agent so far, by method. */
  asked(method: string): Loose[];
  /** A new session in the program's workspace; the whole result. */
  open(params?: object): Promise<Loose>;
  /** One prompt, to its end; the result and the updates that came for it. */
  prompt(
    sessionId: string,
    text: string | object[],
  ): Promise<{ result: Loose; error: Frame["error"]; updates: Loose[] }>;
  notify(method: string, params: object): void;
}

export interface EditorOptions extends Surroundings {
  readonly name?: "otter" | "ferret";
  /** What starts it, before the options. */
  readonly command?: readonly string[];
  readonly args?: string[];
  readonly env?: Record<string, string>;
  readonly clientCapabilities?: object;
  /** A script for the model, in place of the offline one. */
  readonly turns?: object[];
  /** Answers to the agent's requests, by method; the default gives permission. */
  readonly answers?: Record<string, (params: Loose) => unknown>;
}

export const allowOnce = ({ options }: Loose) => ({
  outcome: { outcome: "selected", optionId: options.find((option: Loose) => option.kind === "allow_once").optionId },
});
export const rejectOnce = ({ options }: Loose) => ({
  outcome: { outcome: "selected", optionId: options.find((option: Loose) => option.kind === "reject_once").optionId },
});

export async function startEditor(options: EditorOptions = {}): Promise<Editor> {
  const { name = "otter", command = ["serve", "--acp"], args = [], env = {}, turns } = options;
  const { clientCapabilities = {}, atEnd = onTestFinished } = options;
  const script = turns && `${scratchTree({ "script.json": { turns, repeat: true } }, atEnd)}/script.json`;
  const model = script ? ["--model", `scripted:${script}`] : [];
  const program = startProgram(name, [...command, ...model, ...args], env, options);
  const peer = connect(program);
  const answers: Record<string, (params: Loose) => unknown> = {
    "session/request_permission": allowOnce,
    ...options.answers,
  };

  void (async () => {
    for (let seen = 0; ; seen += 1) {
      const frame = await peer.find((candidate) => peer.frames.indexOf(candidate) >= seen && isRequest(candidate));
      seen = peer.frames.indexOf(frame);
      const answer = answers[frame.method ?? ""];
      void Promise.resolve(answer?.(frame.params)).then((result) => {
        if (result !== undefined) peer.line(JSON.stringify({ jsonrpc: "2.0", id: frame.id, result }));
      });
    }
  })();

  const clientInfo = { name: "editor", version: "1.0.0" };
  const { result: hello } = await peer.request("initialize", { protocolVersion: 1, clientInfo, clientCapabilities });
  return {
    ...peer,
    hello,
    asked: (method) => peer.frames.filter((frame) => isRequest(frame) && frame.method === method).map((f) => f.params),
    open: async (params = {}) =>
      (await peer.request("session/new", { cwd: program.cwd, mcpServers: [], ...params })).result,
    async prompt(sessionId, text) {
      const before = peer.frames.length;
      const blocks = typeof text === "string" ? [{ type: "text", text }] : text;
      const { result, error } = await peer.request("session/prompt", { sessionId, prompt: blocks });
      const updates = peer.frames
        .slice(before)
        .filter((frame) => frame.method === "session/update" && frame.params.sessionId === sessionId)
        .map((frame) => frame.params.update);
      return { result, error, updates };
    },
    notify: (method, params) => peer.line(JSON.stringify({ jsonrpc: "2.0", method, params })),
  };
}

/** The updates of one kind. */
export function ofKind(updates: Loose[], kind: string): Loose[] {
  return updates.filter((update) => update.sessionUpdate === kind);
}

function isRequest(frame: Frame): boolean {
  return frame.method !== undefined && frame.id !== undefined;
}
