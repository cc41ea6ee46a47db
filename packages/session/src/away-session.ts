/** A session of another node. Its state comes from its log; its methods run at that node. */
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

/** Runs a method of the session at the node that has it. */
export type SendCall = (method: string, args: readonly unknown[]) => Promise<CallDone>;

export interface AwaySession extends Session {
  /** Resolves when its log is no longer followed: after `leave`, or because the log was deleted or cannot be read. */
  readonly ended: Promise<void>;
  leave(): void;
}

/** @param madeWith the settings it was made with, from the node that has it. Null if no node has it: then the stored summary is used. */
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
  /** Runs a method at the other node, and waits until the log that is followed here includes its records. */
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
    // Every record that could be read from the store is durable.
    durable: log.reached,
    idle: () => until(() => !isBusy()),
    ended: log.ended,
    leave: log.leave,
  };
}

// --- internal ---

/** Folds a log, and keeps folding what is added to it. */
async function followFold(logs: Sessions["logs"], id: string, createdAt: number) {
  let lastSeq = 0;
  const conversation = await foldLog(logs, id, {
    take: (entry) => {
      lastSeq = isLost(entry) ? entry.last : entry.seq;
    },
  });
  let touchedAt = Date.parse(conversation.facts.endedAt ?? "") || createdAt;
  let isOver = false;
  const waiting = new Set<() => void>();
  const checkAll = () => {
    for (const check of waiting) check();
  };
  const subscription = logs.follow(id, { from: lastSeq }, (batch: readonly LogEntry<SessionEvent>[]) => {
    for (const entry of batch) {
      conversation.apply(isLost(entry) ? entry : entry.event);
      lastSeq = isLost(entry) ? entry.last : entry.seq;
      if (!isLost(entry)) touchedAt = Date.parse(entry.event.ts);
    }
    checkAll();
  });
  const ended = subscription.ended
    .catch(() => {})
    .then(() => {
      isOver = true;
      checkAll();
    });
  /** Resolves when the condition holds, or when the log is no longer followed. */
  const until = (isReached: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!isReached() && !isOver) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
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
    /** Resolves when the log is no longer followed. */
    ended,
    leave: () => subscription.close(),
  };
}
