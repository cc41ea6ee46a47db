/** Limits on what one person uses, and on what all use together. A request beyond a limit is refused before anything is done. */
import { createLanes } from "@chimera/acp-schema/promises";
import { ALL, createCounts } from "./counts.js";
import { SessionError } from "./errors.js";
import type { OwnedSession } from "./session.js";
import { createSpending, type Measured, type SessionCost } from "./spending.js";

/** The limits by name. An absent one sets no limit. */
export interface Limits {
  /** Sessions in memory. */
  readonly sessions?: number;
  /** Turns that run or wait. */
  readonly turns?: number;
  readonly promptsPerMinute?: number;
  /** Dollars since midnight, UTC. */
  readonly usdPerDay?: number;
  /** Long answers: event streams, WebSockets, awaited runs. */
  readonly streams?: number;
  /** Bytes of their sessions on disk. */
  readonly diskBytes?: number;
}

export interface Quotas {
  /** For each person. The program's own user has only the limits in `all`. */
  readonly each?: Limits;
  readonly all?: Limits;
}

/** What a person uses now, or all together. Bytes are counted only if there is a limit on them. */
export type Use = Required<Omit<Limits, "diskBytes">> & Pick<Limits, "diskBytes">;

/** How often a limit has refused a request. */
export interface Refusals {
  readonly limit: keyof Limits;
  readonly whose: keyof Quotas;
  readonly count: number;
}

export type Quota = ReturnType<typeof createQuota>;

export interface QuotaDeps {
  readonly loaded: () => readonly OwnedSession[];
  readonly clock: () => number;
  /** The bytes of a session on disk. 0 if it was deleted. */
  readonly diskBytes: (id: string) => Promise<number>;
  /** All stored sessions. */
  readonly stored: () => Promise<readonly Measured[]>;
  /** The cost of each session that was written to since the given time. */
  readonly spentSince: (time: number, isKnown: (id: string) => boolean) => AsyncIterable<SessionCost>;
  /** If several processes share a store: how many sessions the others have in memory, by owner. */
  readonly elsewhere?: Elsewhere;
}

/** An undefined owner stands for the program's own user. */
export type Elsewhere = () => Promise<readonly (readonly [owner: string | undefined, sessions: number])[]>;

export function createQuota(quotas: Quotas, deps: QuotaDeps) {
  const isShared = deps.elsewhere !== undefined;
  /** The sessions that count here. In a shared store, a session whose log was let go does not count: the process that takes it up counts it. */
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
    /** @param owner undefined for all together */
    use,
    /** Resolves when the use by other processes, and the use before this process began, is counted, if there is a limit on it. */
    ready: createReady(countBefore, isShared ? countOthers : null),
    refusals,
    /** Counts a session that is being made, until the returned function is called. Throws `limit_reached`. @param parent the session that it copies */
    requireSession(owner: string | undefined, id: string, parent?: string) {
      const bytes = isLimited("diskBytes") && parent !== undefined ? disk.of(parent) : 0;
      require(owner, { sessions: 1, diskBytes: bytes });
      making.add(owner, 1);
      if (bytes > 0) disk.expect({ id, owner }, bytes);
      return () => making.add(owner, -1);
    },
    /** Counts a stream until the returned function is called. Throws `limit_reached`. */
    requireStream(owner: string | undefined) {
      require(owner, { streams: 1 });
      streams.add(owner, 1);
      return () => streams.add(owner, -1);
    },
    /** Throws if `requirePrompt` would throw for a prompt of any size. Counts nothing. */
    requireTurn: (sender: string | undefined) => require(sender, TURN),
    /** Counts a prompt for its sender, and its size for the owner of the session. Throws `limit_reached`, `budget_spent`. */
    requirePrompt(sender: string | undefined, session: Measured, size: () => number) {
      const diskBytes = isLimited("diskBytes") ? size() : 0;
      require(sender, { ...TURN, diskBytes });
      for (const [limits, whose] of limitsOf(sender)) if (limits.promptsPerMinute !== undefined) prompts.add(whose);
      if (diskBytes > 0) disk.expect(session, diskBytes);
    },
    /** Measures the bytes of a session on disk again, after they changed. Resolves when they are counted. */
    measure: async (session: Measured) => (isLimited("diskBytes") ? disk.measure(session) : undefined),
    /** Forgets the cost of an unloaded session. Not in a shared store, where another process may continue with the session. */
    forget: (sessionId: string) => (isShared ? undefined : spending.forget(sessionId)),
    /** Reports what a session of this owner has cost so far. */
    spent: spending.spent,
  };
}

// --- internal ---

const MINUTE_MS = 60_000;
/** What every prompt uses. */
const TURN = { usdPerDay: 0, turns: 1, promptsPerMinute: 1 } as const;
/** How old the count of other processes' use may be. */
const AGAIN_MS = 1000;

/** Compares the limits with the use. */
function createBounds(quotas: Quotas, use: (owner?: string) => Use) {
  const refused = new Map<string, Refusals>();
  /** The limits that hold for this owner, each with the owner whose use it limits (undefined: all). */
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

/** Counts the use before this process began, once, and the use by other processes again and again. */
function createReady(countBefore: () => Promise<void>, countOthers: (() => Promise<void>) | null) {
  let before: Promise<void> | undefined;
  let counting: Promise<void> | null = null;
  let countedAt = Number.NEGATIVE_INFINITY;
  return async (): Promise<void> => {
    // After a failed count, the next call counts again. What was counted already is not added twice.
    before ??= countBefore().catch((error) => {
      before = undefined;
      throw error;
    });
    await before;
    if (countOthers === null || performance.now() - countedAt < AGAIN_MS) return;
    counting ??= countOthers()
      // If it cannot be counted now, the last count stays.
      .catch(() => {})
      .finally(() => {
        countedAt = performance.now();
        counting = null;
      });
    await counting;
  };
}

/** Counts the prompts of the last minute, by owner. */
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

/** Bytes on disk: the measured ones, and those that are expected and not measured yet. */
function createDisk(diskBytes: QuotaDeps["diskBytes"]) {
  const bytes = createCounts();
  const sessions = new Map<string, { measured: number; expected: number }>();
  const { inLane } = createLanes();
  const rowOf = (id: string) => {
    const row = sessions.get(id) ?? { measured: 0, expected: 0 };
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
      // One measurement at a time. Bytes that are written meanwhile stay expected until the next one.
      return inLane(id, async () => {
        const { expected } = row;
        const measured = await diskBytes(id);
        bytes.add(owner, measured - row.measured - expected);
        row.measured = measured;
        row.expected -= expected;
        if (measured + row.expected === 0) sessions.delete(id);
      });
    },
  };
}

const COUNTED: Readonly<Record<keyof Limits, string>> = {
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
  return new SessionError(code, `${limit} ${COUNTED[name]}, which is the limit for ${whose ?? "all together"}${help}`);
}
