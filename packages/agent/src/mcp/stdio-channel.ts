/** An MCP server as a child process, with one JSON message per line. Closing the channel ends its whole process group. */

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
  /** The server gets variables from here, except secrets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The confined program to spawn instead of the server itself. Released when it has ended. */
  readonly bounds: Bounds | undefined;
}

type StdioServer = Extract<McpServer, { type: "stdio" }>;

const MAX_COMPLAINT = 2000;
/** How long a server may take to exit after its input has ended. Then it is killed. */
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
    // Its pipes may close much later, when a process that it started still holds one. That process is ended now.
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  void gone.then(() => {
    bounds?.release?.();
    return group.reap();
  });
  child.once("error", (error) => close(`it could not be started: ${error.message}`));
  child.once("exit", async (code, signal) => {
    await group.drained();
    close(`it ended with ${signal ?? `exit code ${code}`}`);
  });
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
        if (child.stdin.writableLength > MAX_MESSAGE) giveUp("it does not read its input");
      }),
    close: async () => {
      closed = true;
      child.stdin?.end();
      await Promise.race([gone, setTimeout(FAREWELL_MS, undefined, { ref: false })]);
      await group.end();
    },
  };
}

/** A shell command that replaces the shell by the server. */
export function commandLine({ command, args }: Pick<StdioServer, "command" | "args">): string {
  return ["exec", ...[command, ...args].map(quoteWord)].join(" ");
}

// --- internal ---

/** Joins fragments once per line, so that the cost of a long line grows with its length and not with the square of it. */
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
