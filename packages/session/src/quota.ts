/** How much one person may use, and all of them together. What is asked beyond it is refused before anything happens. */
import { SessionError } from "./errors.js";
import type { OwnedSession } from "./session.js";

/** Absent: no limit. */
export interface Limits {
  /** Sessions in memory. */
  readonly sessions?: number;
  /** Turns that run or wait. */
  readonly turns?: number;
  readonly promptsPerMinute?: number;
  /** Dollars since midnight, UTC, as far as this process has seen them spent. */
  readonly usdPerDay?: number;
}

export interface Quotas {
  /** For each person; the program's own user is bound by `all` alone. */
  readonly each?: Limits;
  readonly all?: Limits;
}

/** What somebody uses now. */
export type Use = Required<Limits>;

export interface Quota {
  /** Keeps a place for a session until the function returned is called. Throws `limit_reached`. */
  requireSession(owner: string | undefined): () => void;
  /** Throws `limit_reached`, `budget_spent`. Counts the prompt. */
  requirePrompt(owner: string | undefined): void;
  /** A session of theirs has cost so much so far. */
  spent(owner: string | undefined, sessionId: string, usd: number): void;
  /** A session has left the memory. */
  forget(sessionId: string): void;
  /** @param owner undefined: all together. */
  use(owner?: string): Use;
}

export function createQuota(quotas: Quotas, loaded: () => readonly OwnedSession[], clock: () => number): Quota {
  /** When prompts came in the last minute, by owner; "" is everybody. */
  const prompts = new Map<string, number[]>();
  const dollars = new Map<string, number>();
  const costs = new Map<string, number>();
  /** Sessions that are being made, by owner. */
  const making = new Map<string, number>();
  let day = dayOf(clock());

  const recent = (key: string): number[] => {
    const since = clock() - MINUTE_MS;
    const left = (prompts.get(key) ?? []).filter((at) => at > since);
    if (left.length > 0) prompts.set(key, left);
    else prompts.delete(key);
    return left;
  };
  const today = (key: string): number => {
    const now = dayOf(clock());
    if (now !== day) dollars.clear();
    day = now;
    return dollars.get(key) ?? 0;
  };
  const use = (owner?: string): Use => {
    const theirs = loaded().filter((session) => owner === undefined || session.owner === owner);
    const turns = theirs.reduce((sum, { state, queued }) => sum + queued + (state === "idle" ? 0 : 1), 0);
    const key = owner ?? "";
    return {
      sessions: theirs.length + (making.get(key) ?? 0),
      turns,
      promptsPerMinute: recent(key).length,
      usdPerDay: today(key),
    };
  };
  /** Each bound that counts for this owner, with whom it is for. */
  const bounds = (owner: string | undefined): readonly (readonly [Limits, string | undefined])[] => [
    [quotas.all ?? {}, undefined],
    ...(owner === undefined ? [] : ([[quotas.each ?? {}, owner]] as const)),
  ];
  const require = (owner: string | undefined, names: readonly (keyof Limits)[]) => {
    for (const [limits, whose] of bounds(owner)) {
      const set = names.filter((name) => limits[name] !== undefined);
      if (set.length === 0) continue;
      const now = use(whose);
      for (const name of set) if (now[name] >= limits[name]!) throw refusal(name, limits[name]!, whose);
    }
  };

  return {
    use,
    requireSession(owner) {
      require(owner, ["sessions"]);
      const count = (by: number) => {
        for (const key of owner === undefined ? [""] : ["", owner]) making.set(key, (making.get(key) ?? 0) + by);
      };
      count(1);
      return () => count(-1);
    },
    requirePrompt(owner) {
      require(owner, ["usdPerDay", "turns", "promptsPerMinute"]);
      for (const [limits, whose] of bounds(owner)) {
        if (limits.promptsPerMinute !== undefined) prompts.set(whose ?? "", [...recent(whose ?? ""), clock()]);
      }
    },
    forget: (sessionId) => void costs.delete(sessionId),
    spent(owner, sessionId, usd) {
      const before = costs.get(sessionId);
      costs.set(sessionId, usd);
      // What a session cost before it was loaded was spent at another time.
      if (before === undefined || usd <= before) return;
      for (const key of owner === undefined ? [""] : ["", owner]) dollars.set(key, today(key) + usd - before);
    },
  };
}

// --- internal ---

const MINUTE_MS = 60_000;

function dayOf(time: number): number {
  return Math.floor(time / 86_400_000);
}

const SAID: Readonly<Record<keyof Limits, string>> = {
  sessions: "sessions are open",
  turns: "turns run or wait",
  promptsPerMinute: "prompts came in this minute",
  usdPerDay: "dollars were spent today",
};

function refusal(name: keyof Limits, limit: number, whose: string | undefined): SessionError {
  const code = name === "usdPerDay" ? "budget_spent" : "limit_reached";
  return new SessionError(
    code,
    `${limit} ${SAID[name]}, which is the most ${whose === undefined ? "in all" : `for ${whose}`}`,
  );
}
