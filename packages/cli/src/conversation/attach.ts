/** `attach`: the same conversation, with a session of a server that runs elsewhere. */
import { type Invocation, readConfig, readServerToken, UsageError } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { createSession, newestOrNew, remoteClient } from "../client/remote.js";
import { createServer } from "../client/server.js";
import { startConversation } from "./start.js";

export async function attach(invocation: Invocation): Promise<number> {
  const { operands, process } = invocation;
  const url = parseServerUrl(requireOperand(invocation, "a server: attach http://127.0.0.1:5173"));
  const server = createServer(url, readServerToken(invocation, readConfig(invocation)));
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
