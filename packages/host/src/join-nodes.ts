/** This process as one node of several on a database: it settles sessions of nodes that died, and does what others ask of its own. */
import { isSessionError, type Sessions } from "@chimera/session";
import { lazily } from "./lazily.js";
import type { Log } from "./log/log.js";
import type { Storage } from "./storage.js";

export type JoinedNodes = ReturnType<typeof joinNodes>;

/** Does what a request of another node says; both are text. */
export type AnswerRequest = (request: string) => Promise<string>;

/** @param answerAlone makes the handler of HTTP requests for a process that serves none of its own. */
export function joinNodes(
  { inbox, onOrphan }: NonNullable<Storage["shared"]>,
  sessions: Sessions,
  answerAlone: () => Promise<AnswerRequest>,
  log: Pick<Log, "warn">,
) {
  const calls = lazily(async () => (await import("@chimera/session/anywhere")).createCallAnswerer(sessions));
  const alone = lazily(answerAlone);
  let served: AnswerRequest | null = null;
  const answering = inbox.answer(async (request) => {
    const { call } = JSON.parse(request);
    if (call !== undefined) return (await calls.get())(call);
    return (served ?? (await alone.get()))(request);
  });
  answering.catch((error: unknown) => log.warn("other nodes cannot ask this one", { error: String(error) }));
  const stopSettling = onOrphan((id) => sessions.settle(id).catch(unlessQuicker));
  return {
    /** What other nodes ask as whole HTTP requests goes to this handler from now on, and this node is one that lasts. */
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

/** Another node settled the session first. */
function unlessQuicker(error: unknown): void {
  if (!isSessionError(error) || error.code !== "session_claimed") throw error;
}
