/** An MCP server as a child process: one JSON message a line, in a process group that is ended with the channel. */

import { StringDecoder } from "node:string_decoder";
import { setTimeout } from "node:timers/promises";
import type { McpServer } from "@chimera/acp-schema/agent";
import { quoteWord } from "@chimera/acp-schema/text";
import type { Bounds } from "../confine-port.js";
import { AgentError } from "../errors.js";
import { cleanEnvironment } from "../tools/environment.js";
import { spawnGroup } from "../tools/process-group.js";
import { type Channel, type ChannelEvents, deliver, MAX_MESSAGE } from "./channel.js";

export interface StdioOptions {
  readonly cwd: string;
  /** The environment to pick from; secrets in it do not reach the server. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What to spawn in the server's place; released when it has ended. */
  readonly bounds?: Bounds;
}

type StdioServer = Extract<McpServer, { type: "stdio" }>;

const MAX_COMPLAINT = 2000;
/** A server is asked to leave by the end of its input before it is made to. */
const FAREWELL_MS = 300;

export function openStdioChannel(
  server: StdioServer,
  { cwd, env, bounds }: StdioOptions,
  events: ChannelEvents,
): Channel {
  const plain: Bounds = { file: server.command, args: server.args, env: { ...cleanEnvironment(env), ...server.env } };
  const target = bounds ?? plain;
  const group = spawnGroup(target.file, target.args, { cwd, ...target, input: true });
  const { child } = group;
  let complaint = "";
  let closed = false;
  const close = (reason: string) => {
    if (closed) return;
    closed = true;
    events.onClose(complaint.trim() === "" ? reason : `${reason}: ${complaint.trim()}`);
  };
  const gone = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
    child.once("error", () => resolve());
  });
  void gone.then(() => {
    bounds?.release?.();
    return group.reap();
  });
  child.once("error", (error) => close(`it could not be started: ${error.message}`));
  child.once("close", (code, signal) => close(`it ended with ${signal ?? `exit code ${code}`}`));
  child.stdin?.on("error", () => {});
  child.stderr?.on("data", (bytes: Buffer) => {
    complaint = (complaint + bytes.toString()).slice(-MAX_COMPLAINT);
  });
  const giveUp = (reason: string) => {
    close(reason);
    void group.end();
  };
  readLines(
    child.stdout,
    (line) => deliver(line, events.onMessage),
    () => giveUp("it sent a message that is too large"),
  );
  return {
    send: (message) =>
      new Promise((resolve, reject) => {
        const fail = (cause?: unknown) =>
          reject(new AgentError("mcp_closed", `The MCP server ${server.name} is gone.`, { cause }));
        if (closed || !child.stdin?.writable) return fail();
        child.stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? fail(error) : resolve()));
        if (child.stdin.writableLength > MAX_MESSAGE) giveUp("it does not read what it is sent");
      }),
    close: async () => {
      closed = true;
      child.stdin?.end();
      await Promise.race([gone, setTimeout(FAREWELL_MS, undefined, { ref: false })]);
      await group.end();
    },
  };
}

/** The server's command for a shell, in whose place it runs. */
export function commandLine({ command, args }: Pick<StdioServer, "command" | "args">): string {
  return ["exec", ...[command, ...args].map(quoteWord)].join(" ");
}

// --- internal ---

/** Fragments are joined once a line, so that a long line costs its length and not its square. */
function readLines(stream: NodeJS.ReadableStream | null, onLine: (line: string) => void, onOverflow: () => void): void {
  const decoder = new StringDecoder("utf8");
  let fragments: string[] = [];
  let size = 0;
  stream?.on("error", () => {});
  stream?.on("data", (bytes: Buffer) => {
    const [first = "", ...others] = decoder.write(bytes).split("\n");
    fragments.push(first);
    size += first.length;
    for (const next of others) {
      const line = fragments.join("");
      if (line.trim() !== "") onLine(line);
      fragments = [next];
      size = next.length;
    }
    if (size <= MAX_MESSAGE) return;
    fragments = [];
    size = 0;
    onOverflow();
  });
}
