/** How much one person may use, and all of them together. What is asked beyond it is refused before anything happens. */
import { ALL, createCounts } from "./counts.js";
import { SessionError } from "./errors.js";
import type { OwnedSession } from "./session.js";
import { createSpending, type Measured, type SessionCost } from "./spending.js";

/** Absent: no limit. */
export interface Limits {
  /** Sessions in memory. */
  readonly sessions?: number;
  /** Turns that run or wait. */
  readonly turns?: number;
  readonly promptsPerMinute?: number;
  /** Dollars since midnight, UTC. */
  readonly usdPerDay?: number;
  /** Answers that last: event streams, WebSockets, runs that are waited for. */
  readonly streams?: number;
  /** What their sessions take on disk. */
  readonly diskBytes?: number;
}

export interface Quotas {
  /** For each person; the program's own user is bound by `all` alone. */
  readonly each?: Limits;
  readonly all?: Limits;
}

/** What a person, or all together, use now. Bytes are counted only where there is a limit on them. */
export type Use = Required<Omit<Limits, "diskBytes">> & Pick<Limits, "diskBytes">;

/** How often a limit has refused something. */
export interface Refusals {
  readonly limit: keyof Limits;
  readonly whose: keyof Quotas;
  readonly count: number;
}

export type Quota = ReturnType<typeof createQuota>;

export interface QuotaDeps {
  readonly loaded: () => readonly OwnedSession[];
  readonly clock: () => number;
  /** What a session takes on disk; 0 for one that is gone. */
  readonly diskBytes: (id: string) => Promise<number>;
  /** Every session that is stored. */
  readonly stored: () => Promise<readonly Measured[]>;
  /** What sessions have cost that were written to since a time. */
  readonly spentSince: (time: number, isKnown: (id: string) => boolean) => AsyncIterable<SessionCost>;
  /** Where several processes share a store: how many sessions the others have in memory, by owner. */
  readonly elsewhere?: Elsewhere;
}

/** Undefined: the sessions of the program's own user. */
export type Elsewhere = () => Promise<readonly (readonly [owner: string | undefined, sessions: number])[]>;

export function createQuota(quotas: Quotas, deps: QuotaDeps) {
  const isShared = deps.elsewhere !== undefined;
  /** Where other processes count too, without those that were let go: the process that takes one up counts it. */
  const here = () => deps.loaded().filter(({ isLetGo }) => !isLetGo || !isShared);
  const prompts = createPrompts(deps.clock);
  const spending = createSpending({ ...deps, here, isShared });
  /** Sessions that are being made. */
  const making = createCounts();
  const streams = createCounts();
  /** Sessions that other processes have. */
  const others = createCounts();
  const disk = createDisk(deps.diskBytes);
  const use = (owner?: string): Use => {
    const theirs = here().filter((session) => owner === undefined || session.owner === owner);
    return {
      sessions: theirs.length + making.of(owner) + others.of(owner),
      turns: theirs.reduce((sum, { state, queued }) => sum + queued + (state === "idle" ? 0 : 1), 0),
      promptsPerMinute: prompts.of(owner),
      usdPerDay: spending.of(owner),
      streams: streams.of(owner),
      ...(isLimited("diskBytes") && { diskBytes: disk.bytes.of(owner) }),
    };
  };
  const { isLimited, require, limitsOf, refusals } = createBounds(quotas, use);
  const countBefore = async (): Promise<void> => {
    if (isLimited("usdPerDay")) await spending.count();
    if (isLimited("diskBytes")) for (const session of await deps.stored()) await disk.measure(session);
  };
  const countOthers = async (): Promise<void> => {
    if (isLimited("usdPerDay")) await spending.count();
    if (!isLimited("sessions")) return;
    const rows = (await deps.elsewhere?.()) ?? [];
    others.clear();
    for (const [owner, sessions] of rows) others.add(owner, sessions);
  };
  return {
    /** @param owner undefined: all together. */
    use,
    /** Resolves when what others use, or used before this process began, is counted, as far as a limit asks for it. */
    ready: createReady(countBefore, isShared ? countOthers : null),
    refusals,
    /** Keeps a place for a session until the function returned is called. Throws `limit_reached`. @param parent the one that it copies */
    requireSession(owner: string | undefined, id: string, parent?: string) {
      const bytes = isLimited("diskBytes") && parent !== undefined ? disk.of(parent) : 0;
      require(owner, { sessions: 1, diskBytes: bytes });
      making.add(owner, 1);
      if (bytes > 0) disk.expect({ id, owner }, bytes);
      return () => making.add(owner, -1);
    },
    /** Keeps a place for a stream until the function returned is called. Throws `limit_reached`. */
    requireStream(owner: string | undefined) {
      require(owner, { streams: 1 });
      streams.add(owner, 1);
      return () => streams.add(owner, -1);
    },
    /** Throws what `requirePrompt` would throw for a prompt of any size, and counts nothing. */
    requireTurn: (sender: string | undefined) => require(sender, TURN),
    /** Throws `limit_reached`, `budget_spent`. Counts the prompt for its sender, and its size for the owner of the session. */
    requirePrompt(sender: string | undefined, session: Measured, size: () => number) {
      const diskBytes = isLimited("diskBytes") ? size() : 0;
      require(sender, { ...TURN, diskBytes });
      for (const [limits, whose] of limitsOf(sender)) if (limits.promptsPerMinute !== undefined) prompts.add(whose);
      if (diskBytes > 0) disk.expect(session, diskBytes);
    },
    /** What a session takes on disk has changed. Resolves when it is counted. */
    measure: async (session: Measured) => (isLimited("diskBytes") ? disk.measure(session) : undefined),
    /** A session has left the memory. Where other processes count too, one of them may go on with it. */
    forget: (sessionId: string) => (isShared ? undefined : spending.forget(sessionId)),
    /** A session of theirs has cost so much so far. */
    spent: spending.spent,
  };
}

// --- internal ---

const MINUTE_MS = 60_000;
/** What every prompt takes. */
const TURN = { usdPerDay: 0, turns: 1, promptsPerMinute: 1 } as const;
/** How old a count of what other processes use may be. */
const AGAIN_MS = 1000;

/** The limits, each held against what is used. */
function createBounds(quotas: Quotas, use: (owner?: string) => Use) {
  const refused = new Map<string, Refusals>();
  /** The limits that count for this owner, each with whom it is for. */
  const limitsOf = (owner: string | undefined): readonly (readonly [Limits, string | undefined])[] => [
    [quotas.all ?? {}, undefined],
    ...(owner === undefined ? [] : ([[quotas.each ?? {}, owner]] as const)),
  ];
  const refuse = (name: keyof Limits, limit: number, whose: string | undefined): never => {
    const group = whose === undefined ? "all" : "each";
    const count = (refused.get(`${group} ${name}`)?.count ?? 0) + 1;
    refused.set(`${group} ${name}`, { limit: name, whose: group, count });
    throw refusal(name, limit, whose);
  };
  return {
    limitsOf,
    isLimited: (name: keyof Limits) => (quotas.all?.[name] ?? quotas.each?.[name]) !== undefined,
    refusals: () => [...refused.values()],
    /** Throws `limit_reached`, `budget_spent`. A wanted amount of 0 means that the size is not known yet: it is allowed while anything is left. */
    require(owner: string | undefined, wanted: Limits): void {
      for (const [limits, whose] of limitsOf(owner)) {
        const names = (Object.keys(wanted) as (keyof Limits)[]).filter((name) => limits[name] !== undefined);
        if (names.length === 0) continue;
        const now = use(whose);
        for (const name of names) {
          const { [name]: limit = 0 } = limits;
          const { [name]: want = 0 } = wanted;
          const { [name]: used = 0 } = now;
          if (want === 0 ? used >= limit : used + want > limit) refuse(name, limit, whose);
        }
      }
    },
  };
}

/** Counts once what was used before this process began and, now and then, what others use. */
function createReady(countBefore: () => Promise<void>, countOthers: (() => Promise<void>) | null) {
  let before: Promise<void> | undefined;
  let counting: Promise<void> | null = null;
  let countedAt = Number.NEGATIVE_INFINITY;
  return async (): Promise<void> => {
    // A count that failed is made again for the next one who asks: what is counted already adds nothing then.
    before ??= countBefore().catch((error) => {
      before = undefined;
      throw error;
    });
    await before;
    if (countOthers === null || performance.now() - countedAt < AGAIN_MS) return;
    counting ??= countOthers()
      // While nobody can say, what was counted last holds.
      .catch(() => {})
      .finally(() => {
        countedAt = performance.now();
        counting = null;
      });
    await counting;
  };
}

/** Prompts of the last minute, by owner. */
function createPrompts(clock: () => number) {
  const times = new Map<string, number[]>();
  const recent = (key: string): number[] => {
    const since = clock() - MINUTE_MS;
    const left = (times.get(key) ?? []).filter((at) => at > since);
    if (left.length > 0) times.set(key, left);
    else times.delete(key);
    return left;
  };
  return {
    of: (owner = ALL) => recent(owner).length,
    add: (owner = ALL) => void times.set(owner, [...recent(owner), clock()]),
  };
}

/** Bytes on disk: those that were measured, plus those that are known to come and were not measured yet. */
function createDisk(diskBytes: QuotaDeps["diskBytes"]) {
  const bytes = createCounts();
  const sessions = new Map<string, { measured: number; expected: number; measuring: Promise<void> }>();
  const rowOf = (id: string) => {
    const row = sessions.get(id) ?? { measured: 0, expected: 0, measuring: Promise.resolve() };
    sessions.set(id, row);
    return row;
  };
  return {
    bytes,
    of: (id: string) => (sessions.get(id)?.measured ?? 0) + (sessions.get(id)?.expected ?? 0),
    expect({ id, owner }: Measured, more: number) {
      rowOf(id).expected += more;
      bytes.add(owner, more);
    },
    measure({ id, owner }: Measured): Promise<void> {
      const row = rowOf(id);
      const count = async () => {
        const { expected } = row;
        const measured = await diskBytes(id);
        bytes.add(owner, measured - row.measured - expected);
        row.measured = measured;
        row.expected -= expected;
        if (measured + row.expected === 0) sessions.delete(id);
      };
      // One measurement at a time, also after one that failed: what is written meanwhile counts as expected until the next one.
      row.measuring = row.measuring.then(count, count);
      return row.measuring;
    },
  };
}

const SAID: Readonly<Record<keyof Limits, string>> = {
  sessions: "sessions are open",
  turns: "turns run or wait",
  promptsPerMinute: "prompts came in this minute",
  usdPerDay: "dollars were spent today",
  streams: "streams are open",
  diskBytes: "bytes are on disk",
};

function refusal(name: keyof Limits, limit: number, whose: string | undefined): SessionError {
  const code = name === "usdPerDay" ? "budget_spent" : "limit_reached";
  const help = name === "diskBytes" ? ": delete sessions that nobody needs" : "";
  return new SessionError(
    code,
    `${limit} ${SAID[name]}, which is the most ${whose === undefined ? "in all" : `for ${whose}`}${help}`,
  );
}
