/** Makes this process one of several nodes on a database: it settles the sessions of dead nodes, and answers requests for its own. */

import { lazily } from "@chimera/acp-schema/promises";
import { isSessionError, type Sessions } from "@chimera/session";
import type { Log } from "./log/log.js";
import type { Storage } from "./storage.js";

export type JoinedNodes = ReturnType<typeof joinNodes>;

/** Handles an HTTP request of another node. */
export type AnswerRequest = (asked: unknown) => Promise<unknown>;

/** @param answerAlone makes the handler of HTTP requests for a process that has no HTTP server. */
export function joinNodes(
  { inbox, onOrphan }: NonNullable<Storage["shared"]>,
  sessions: Sessions,
  answerAlone: () => Promise<AnswerRequest>,
  log: Pick<Log, "warn">,
) {
  const alone = lazily(answerAlone);
  let served: AnswerRequest | null = null;
  const http: AnswerRequest = async (asked) => (served ?? (await alone.get()))(asked);
  const calls = lazily(async () => (await import("@chimera/session/anywhere")).createCallAnswerer(sessions, { http }));
  const answering = inbox.answer(async (request) => (await calls.get())(JSON.parse(request).call));
  answering.catch((error: unknown) => log.warn("other nodes cannot ask this one", { error: String(error) }));
  const stopSettling = onOrphan((id) => sessions.settle(id).catch(unlessQuicker));
  return {
    /** Sends other nodes' HTTP requests to this handler from now on, and marks this node as a server, not a one-off process. */
    async serve(handle: AnswerRequest) {
      served = handle;
      await answering;
      await inbox.serve();
    },
    async leave() {
      stopSettling();
      await inbox.close();
    },
  };
}

// --- internal ---

/** Ignores the error that means that another node settled the session first. */
function unlessQuicker(error: unknown): void {
  if (!isSessionError(error) || error.code !== "session_claimed") throw error;
}
