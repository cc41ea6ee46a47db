/** A session that another node has: what it is comes from its log, and what it does is done there. */
import { modeOf } from "@chimera/acp-schema/conversation";
import { isLost, type SessionEvent } from "@chimera/acp-schema/events";
import { readSummary } from "@chimera/acp-schema/summary";
import type { LogEntry } from "@chimera/event-store";
import { type CallDone, plainCalls } from "./calls.js";
import { foldLog } from "./logs.js";
import type { Accepted, Session } from "./session.js";
import type { Sessions } from "./sessions.js";
import { type Settings, settingsOf } from "./settings.js";
import { rememberedBirth } from "./stored.js";
import { summarize } from "./summary.js";

/** Has a method of the session done where it is. */
export type SendCall = (method: string, args: readonly unknown[]) => Promise<CallDone>;

export interface AwaySession extends Session {
  /** Its log is not followed any more: by `leave`, because it was deleted, or because it cannot be read. */
  readonly ended: Promise<void>;
  leave(): void;
}

/** @param madeWith what it was made with, as the node says that has it; null where none has it, and what is stored has to say it. */
export async function watchAway(
  { logs, prefix, defaults }: Pick<Sessions, "logs" | "prefix" | "defaults">,
  id: string,
  madeWith: Settings | null,
  send: SendCall,
): Promise<AwaySession> {
  const stored = rememberedBirth(readSummary(id, (await logs.readSummary(id)) ?? {}), madeWith ?? defaults);
  const { owner, cwd, directories, createdAt, persistent } = stored;
  const made = madeWith ?? stored.made;
  const log = await followFold(logs, id, createdAt);
  const { conversation, until } = log;
  const { openPermissions, openQuestions } = conversation;
  const settings = () => settingsOf(made, conversation.settings);
  const isBusy = () => conversation.turns.some((turn) => turn && !turn.ended);
  /** What a caller reads of the session after its command is not older than what the command did. */
  const command: <T>(...call: Parameters<SendCall>) => Promise<T> = async (method, args) => {
    const { value, seq = 0 } = await send(method, args);
    await log.reached(seq);
    return value as never;
  };
  return {
    id,
    cwd,
    directories,
    createdAt,
    persistent,
    owner: owner ?? null,
    conversation,
    openPermissions,
    openQuestions,
    snapshots: null,
    get touchedAt() {
      return log.touchedAt;
    },
    get state() {
      return isBusy() ? "running" : "idle";
    },
    get queued() {
      return conversation.turns.filter((turn) => turn && !turn.started && !turn.ended).length;
    },
    get settings() {
      return settings();
    },
    get mode() {
      return modeOf(settings());
    },
    get title() {
      return conversation.facts.title;
    },
    get isShared() {
      return conversation.facts.isShared;
    },
    get lastSeq() {
      return log.lastSeq;
    },
    summary: () =>
      summarize({ ...stored, id, program: stored.program ?? prefix, model: settings().model }, conversation),
    async prompt(input) {
      return { ...(await command<Accepted>("prompt", [input])), durable: Promise.resolve() };
    },
    ...plainCalls(command),
    // What is read from the store is durable.
    durable: log.reached,
    idle: () => until(() => !isBusy()),
    ended: log.ended,
    leave: log.leave,
  };
}

// --- internal ---

/** The fold of a log that goes on. */
async function followFold(logs: Sessions["logs"], id: string, createdAt: number) {
  let lastSeq = 0;
  const conversation = await foldLog(logs, id, {
    take: (entry) => {
      lastSeq = isLost(entry) ? entry.last : entry.seq;
    },
  });
  let touchedAt = Date.parse(conversation.facts.endedAt ?? "") || createdAt;
  let isOver = false;
  const readers = new Set<() => void>();
  const lookAgain = () => {
    for (const look of readers) look();
  };
  const subscription = logs.follow(id, { from: lastSeq }, (batch: readonly LogEntry<SessionEvent>[]) => {
    for (const entry of batch) {
      conversation.apply(isLost(entry) ? entry : entry.event);
      lastSeq = isLost(entry) ? entry.last : entry.seq;
      if (!isLost(entry)) touchedAt = Date.parse(entry.event.ts);
    }
    lookAgain();
  });
  const ended = subscription.ended
    .catch(() => {})
    .then(() => {
      isOver = true;
      lookAgain();
    });
  /** Resolves when the log says so, or comes no further. */
  const until = (isSo: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!isSo() && !isOver) return;
        readers.delete(look);
        resolve();
      };
      readers.add(look);
      look();
    });
  return {
    conversation,
    get lastSeq() {
      return lastSeq;
    },
    /** When the last record was written. */
    get touchedAt() {
      return touchedAt;
    },
    until,
    reached: (seq: number) => until(() => lastSeq >= seq),
    /** Resolves when the log is not followed any more. */
    ended,
    leave: () => subscription.close(),
  };
}
