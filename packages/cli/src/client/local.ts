/** A session of this process's core. */
import { describeLost, isLost } from "@chimera/acp-schema/events";
import type { RunningCore } from "@chimera/host";
import { isSessionError, type OwnedSession } from "@chimera/session";
import { MOST_OFFERED, modeChoices, type SessionClient, sessionChoice } from "./client.js";

/** `approves`: whether a person is here to answer. Otherwise permission requests are denied at once. */
export function localClient(core: RunningCore, session: OwnedSession, approves: boolean): SessionClient {
  const { sessions } = core;
  const attachment = sessions.attach(session.id, { transport: "terminal", approves });
  return {
    id: session.id,
    cwd: session.cwd,
    get model() {
      return session.settings.model;
    },
    server: null,
    persistent: session.persistent,
    head: session.lastSeq,
    async follow({ from, signal, onRecord, onNotice }) {
      const subscription = sessions.logs.follow(session.id, { from, signal }, (batch) => {
        for (const entry of batch) isLost(entry) ? onNotice(describeLost(entry)) : onRecord(entry.event);
      });
      await subscription.ended;
    },
    async prompt(input) {
      const { turn, durable } = session.prompt(input);
      await durable;
      return turn;
    },
    async cancel() {
      await session.cancel();
    },
    async answerQuestion(questionId, answer) {
      await session.answerQuestion(questionId, answer).catch((error) => {
        if (!isSessionError(error) || error.code !== "already_resolved") throw error;
      });
    },
    async answer(permissionId, { decision, choice, reason }, shown) {
      try {
        await session.answer(permissionId, { ...(choice ? { choice } : { decision }), reason }, undefined, shown);
        return true;
      } catch (error) {
        if (isSessionError(error) && error.code === "already_resolved") return false;
        throw error;
      }
    },
    async commands() {
      return [...core.palette.commands, ...(await core.palette.custom(session.cwd))];
    },
    settings: async () => ({ model: session.settings.model, mode: session.mode, agent: session.settings.agent }),
    async choices(of) {
      if (of === "mode") return modeChoices();
      if (of === "session") {
        const { sessions: rows } = await sessions.list({ limit: MOST_OFFERED, prompted: true });
        return rows.filter(({ id }) => id !== session.id).map(({ id, summary }) => sessionChoice(id, summary));
      }
      const rows = of === "model" ? core.models() : await core.agents(session.cwd);
      return rows.map(({ id, description = "" }) => ({ value: id, label: id, description }));
    },
    async forgetFiles() {
      if (session.state === "idle") await session.snapshots?.drop();
    },
    async close() {
      attachment.detach();
    },
  };
}
