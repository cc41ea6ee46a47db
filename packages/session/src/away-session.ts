/** A session that another node has: what it is comes from its log, and what it does is done there. */
import { modeOf } from "@chimera/acp-schema/conversation";
import { endsTurn, isLost, type SessionEvent } from "@chimera/acp-schema/events";
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

/** @param told what it was made with, as the node says that has it; null where none has it, and what is stored has to say it. */
export async function watchAway(
  { logs, prefix, defaults }: Pick<Sessions, "logs" | "prefix" | "defaults">,
  id: string,
  told: Settings | null,
  send: SendCall,
): Promise<AwaySession> {
  const stored = readSummary(id, (await logs.readSummary(id)) ?? {});
  const {
    made: remembered,
    bounds,
    cwd,
    directories,
    createdAt,
    persistent,
    owner,
    parentId,
    ...birth
  } = rememberedBirth(stored, told ?? defaults);
  const made = told ?? remembered;
  let { endedAt } = birth;
  let touchedAt = endedAt ?? createdAt;
  let lastSeq = 0;
  const conversation = await foldLog(logs, id, {
    take: (entry) => {
      lastSeq = isLost(entry) ? entry.last : entry.seq;
    },
  });
  const readers = new Set<() => void>();
  const subscription = logs.follow(id, { from: lastSeq }, (batch: readonly LogEntry<SessionEvent>[]) => {
    for (const entry of batch) {
      conversation.apply(isLost(entry) ? entry : entry.event);
      lastSeq = isLost(entry) ? entry.last : entry.seq;
      if (isLost(entry)) continue;
      touchedAt = Date.parse(entry.event.ts);
      if (endsTurn(entry.type)) endedAt = touchedAt;
    }
    for (const look of readers) look();
  });
  let isOver = false;
  const ended = subscription.ended
    .catch(() => {})
    .then(() => {
      isOver = true;
      for (const look of readers) look();
    });
  /** Resolves when the log has come so far, or comes no further. */
  const until = (isThere: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!isThere() && !isOver) return;
        readers.delete(look);
        resolve();
      };
      readers.add(look);
      look();
    });
  /** What a caller reads of the session after its command is not older than what the command did. */
  const command: <T>(...call: Parameters<SendCall>) => Promise<T> = async (method, args) => {
    const { value, seq = 0 } = await send(method, args);
    await until(() => lastSeq >= seq);
    return value as never;
  };
  const settings = () => settingsOf(made, conversation.settings);
  const isBusy = () => conversation.turns.some((turn) => turn && !turn.ended);
  const { openPermissions, openQuestions } = conversation;

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
      return touchedAt;
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
      return lastSeq;
    },
    summary: () =>
      summarize(
        {
          id,
          program: birth.program ?? prefix,
          cwd,
          directories,
          createdAt,
          model: settings().model,
          bounds,
          ...(owner !== undefined && { owner }),
          ...(parentId !== undefined && { parentId }),
        },
        conversation,
        endedAt,
      ),
    async prompt(input) {
      return { ...(await command<Accepted>("prompt", [input])), durable: Promise.resolve() };
    },
    ...plainCalls(command),
    // What is read from the store is durable.
    durable: (seq) => until(() => lastSeq >= seq),
    idle: () => until(() => !isBusy()),
    ended,
    leave: () => subscription.close(),
  };
}
