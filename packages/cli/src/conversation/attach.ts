/** `attach`: the same conversation, with a session of a server that runs elsewhere. */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { envName, type Invocation, UsageError } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { createSession, newestOrNew, remoteClient } from "../client/remote.js";
import { createServer } from "../client/server.js";
import { textFlag } from "../flags.js";
import { startConversation } from "./start.js";

export async function attach(invocation: Invocation): Promise<number> {
  const { operands, process } = invocation;
  const url = parseServerUrl(requireOperand(invocation, "attach", "a server: attach http://127.0.0.1:5173"));
  const server = createServer(url, readToken(invocation));
  const id = operands[1] ?? (await newestOrNew(server));
  return startConversation(invocation, {
    approves: process.stdin.isTTY === true,
    remembers: true,
    first: await remoteClient(server, id),
    open: async (other) => remoteClient(server, other ?? (await createSession(server))),
  });
}

// --- internal ---

function parseServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && (url.protocol === "http:" || url.protocol === "https:") && !url.username && !url.password)
    return url.origin + url.pathname.replace(/\/+$/, "");
  throw new UsageError(`${JSON.stringify(text)} is no address of a server: http://127.0.0.1:5173, for one`);
}

/** Never from the command line, where others on this machine could see it. */
function readToken({ flags, profile, process }: Invocation): string | undefined {
  const file = textFlag(flags, "auth-token-file");
  if (file === undefined) return process.env[envName(profile, "SERVER_TOKEN")] || undefined;
  const path = resolve(process.cwd(), file);
  try {
    if (process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0)
      throw new UsageError(`--auth-token-file: others can read ${path}; chmod 600 it`);
    const token = readFileSync(path, "utf8").trim();
    if (token === "") throw new UsageError(`--auth-token-file: ${path} is empty`);
    return token;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new UsageError(`--auth-token-file: ${(error as Error).message}`);
  }
}
