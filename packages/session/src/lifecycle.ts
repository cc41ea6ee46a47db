/** Sessions from their making to their end: created, loaded, forked, closed, deleted. */
import { randomBytes } from "node:crypto";
import { type Conversation, foldConversation } from "@chimera/acp-schema/conversation";
import { endsTurn, isLost, type Lost, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import { readSummary, type Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore, type EventStore, type LogWriter, makeSessionId, sessionTime } from "@chimera/event-store";
import type { SessionSnapshots } from "@chimera/snapshot-store";
import { createSession } from "./create-session.js";
import { namedError, notFound, SessionError } from "./errors.js";
import { bodyOf } from "./journal.js";
import { DEFAULT_SESSION_TTL, seconds } from "./limits.js";
import { createLoaded, type Loaded } from "./loaded.js";
import { createCollected, createLogs, foldLog } from "./logs.js";
import { spentSince, storedSessions } from "./past-use.js";
import { sessionsFor } from "./people.js";
import { byMode } from "./policy.js";
import { createQuota, type Quota } from "./quota.js";
import { isRecorded, settleFiles } from "./recover.js";
import { remove, tearDown } from "./removal.js";
import type { OwnedSession } from "./session.js";
import type { SessionBirth } from "./session-parts.js";
import type { CreateOptions, ForkOptions, Sessions, SessionsDeps } from "./sessions.js";
import {
  changesBetween,
  DEFAULT_SETTINGS,
  madeWith,
  narrower,
  ownSettings,
  requireModelName,
  type Settings,
  settingsOf,
  stricterBounds,
} from "./settings.js";
import { summarize } from "./summary.js";
import { plainFiles } from "./workspace.js";

/**
 * The sessions of a program: made, loaded, forked and ended here.
 * Throws `invalid_setting` for a time that is not a finite number of seconds of at least 0.
 *
 * @example
 * const sessions = createSessions({ agent, store: createMemoryStore(), prefix: "mine", defaults: { model: "offline" } });
 * const session = await sessions.create({ cwd: process.cwd() });
 */
export function createSessions(deps: SessionsDeps): Sessions {
  const house = createHouse(deps);
  const { loaded, store } = house;
  const removed = new Set<Parameters<Sessions["onRemove"]>[0]>();
  const removing = (id: string, work: () => Promise<void>): Promise<void> =>
    loaded.inLane(id, async () => {
      const last = loaded.find(id)?.summary() ?? (await store.readSummary(id).catch(() => null));
      await work();
      await deps.files?.remove(id);
      await house.quota.measure({ id, owner: last?.owner });
      for (const listener of removed) listener(id, last);
    });
  const sessions: Sessions = {
    prefix: deps.prefix,
    defaults: house.defaults,
    quota: { ...deps.quotas, ...house.quota },
    store,
    logs: createLogs(store, house.ephemeral, loaded),
    find: loaded.find,
    attach: loaded.attach,
    clients: loaded.clients,
    onLoad: loaded.onLoad,
    evictIdle: loaded.evictIdle,
    shutdown: loaded.shutdown,
    live: () => loaded.all().sort((a, b) => b.touchedAt - a.touchedAt),
    async create(options) {
      loaded.evictIdle();
      await house.quota.ready();
      const asked = (await deps.admit?.(options)) ?? options;
      if (asked.settings?.model !== undefined) requireModelName(asked.settings.model);
      const settings = madeWith(house.start(asked.cwd), asked.settings ?? {});
      return born(house, { ...asked, settings }, foldConversation(), (target, id, summary) =>
        target.create(id, summary),
      );
    },
    async load(id) {
      loaded.evictIdle();
      const present = loaded.find(id);
      present?.touch();
      if (present) return present;
      await house.quota.ready();
      return loaded.inLane(id, async () => loaded.find(id) ?? bring(house, id));
    },
    async loadVisible(id) {
      const collected = createCollected();
      await house.quota.ready();
      const session =
        loaded.find(id) ?? (await loaded.inLane(id, async () => loaded.find(id) ?? bring(house, id, collected.take)));
      session.touch();
      return { session, head: session.lastSeq, visible: collected.visible(sessions.logs, session) };
    },
    async list(options) {
      loaded.evictIdle();
      const asked = { prefixes: [deps.prefix], order: "touched", prompted: true, closed: false, ...options } as const;
      return store.list({ ...asked, known: sessions.known() });
    },
    known() {
      const stored = loaded.all().filter(({ persistent }) => persistent);
      return new Map(stored.map((one) => [one.id, { id: one.id, summary: one.summary(), touched: one.touchedAt }]));
    },
    async fork(id, options = {}) {
      await house.quota.ready();
      return loaded.inLane(id, () => fork(house, id, options));
    },
    close: (id) => loaded.inLane(id, () => close(house, id)),
    tearDown: (id) => removing(id, () => tearDown({ ...house, snapshots: deps.snapshots }, id)),
    delete: (id) => removing(id, () => remove({ ...house, snapshots: deps.snapshots }, id)),
    onRemove(listener) {
      removed.add(listener);
      return () => void removed.delete(listener);
    },
    settle: (id) =>
      loaded.inLane(id, async () => {
        if (loaded.find(id)) return;
        await bring(house, id);
        await loaded.unload(id, "shutdown");
      }),
  };
  house.sessions = sessions;
  return sessions;
}

// --- internal ---

type Store = EventStore<SessionEvent, Summary>;

/** Loads a stored session; `take` gets each entry of its log. */
async function bring(house: House, id: string, take?: (entry: SessionRecord | Lost) => void): Promise<OwnedSession> {
  const { store, deps } = house;
  const naming = (error: unknown): never => {
    throw namedError(error, id);
  };
  const stored = await store.readSummary(id).catch(naming);
  const isThere = stored !== null || (await store.has(id).catch(() => false));
  if (!isThere || stored?.closed) throw notFound(id);
  const summary = readSummary(id, stored ?? {});
  if (summary.cwd === "") {
    // A damaged log says so itself.
    await store.open(id).then((one) => one.close(), naming);
    throw new SessionError("invalid_setting", `session ${id} does not say where it worked`);
  }
  deps.requirePlace?.([summary.cwd, ...(summary.directories ?? []).filter((one) => !deps.directories?.includes(one))]);
  const writer = await store.open(id).catch(naming);
  try {
    const conversation = await foldLog(store, id, take ? { take } : {});
    const evicted = house.loaded.evicted(id);
    const asEvicted = evicted?.lastSeq === writer.lastSeq ? evicted : null;
    const start = house.start(summary.cwd);
    const remembered = rememberedBirth(summary, start);
    const made = asEvicted?.made ?? { ...remembered.made, ...stricterBounds(remembered.made, start) };
    const birth = { writer, conversation, ...remembered, made };
    const snapshots = house.snapshotsOf(birth);
    await settleFiles(snapshots, isRecorded(store, id), deps.onRecovered);
    const session = house.open(store, birth, snapshots);
    // A restart, or another program, must not widen what this one was started with, nor what a person narrowed.
    const kept = asEvicted ? session.settings : narrower(session.settings, start, deps.orders ?? {});
    for (const event of changesBetween(session.settings, kept)) session.record(event).catch(() => {});
    return session;
  } catch (error) {
    deps.snapshots?.release(id);
    await writer.close().catch(() => {});
    throw namedError(error, id);
  }
}

/** Makes a session that was not there before. */
async function born(
  house: House,
  options: CreateOptions & { readonly settings: Settings; readonly parentId?: string },
  conversation: Conversation,
  open: (store: Store, id: string, summary: Summary) => Promise<LogWriter<SessionEvent>>,
): Promise<OwnedSession> {
  const { deps, clock } = house;
  const { cwd, settings: made, parentId, persist = true } = options;
  deps.requirePlace?.([cwd, ...(options.directories ?? [])]);
  const createdAt = clock();
  const id = makeSessionId(deps.prefix, createdAt, house.randomHex(4));
  const store = persist ? house.store : house.ephemeral;
  const facts = {
    program: deps.prefix,
    cwd,
    directories: [...(deps.directories ?? []), ...(options.directories ?? [])],
    createdAt,
    bounds: ownSettings(made, house.start(cwd)),
    ...(options.owner !== undefined && { owner: options.owner }),
    ...(parentId !== undefined && { parentId }),
  };
  const { model } = settingsOf(made, conversation.settings);
  const leave = house.quota.requireSession(options.owner, id, parentId);
  const birth = { ...facts, conversation, made, persistent: persist, endedAt: null };
  const opening = open(store, id, summarize({ ...facts, id, model }, conversation, null));
  return opening
    .then((writer) => house.open(store, { ...birth, writer }))
    .finally(async () => {
      leave();
      await house.quota.measure({ id, owner: options.owner });
    });
}

/** What a stored session is loaded with: the start settings of now, under those it was made with; its log says what was changed. */
function rememberedBirth(summary: Summary, start: Settings): Omit<SessionBirth, "writer" | "conversation"> {
  const { bounds = {} } = summary;
  return {
    made: madeWith(start, { ...bounds, model: summary.model }),
    bounds,
    program: summary.agent,
    cwd: summary.cwd,
    directories: summary.directories ?? [],
    createdAt: Date.parse(summary.started_at ?? "") || sessionTime(summary.session_id) || 0,
    endedAt: summary.ended_at === null ? null : Date.parse(summary.ended_at),
    persistent: true,
    ...(summary.owner !== undefined && { owner: summary.owner }),
    ...(summary.parent_id !== undefined && { parentId: summary.parent_id }),
  };
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}

/** What every operation on sessions needs. */
interface House {
  readonly deps: SessionsDeps;
  readonly loaded: Loaded;
  readonly store: Store;
  readonly ephemeral: Store;
  readonly defaults: Settings;
  /** What a session in this directory starts with now. */
  readonly start: (cwd: string) => Settings;
  readonly clock: () => number;
  readonly randomHex: (bytes: number) => string;
  readonly quota: Quota;
  snapshotsOf(birth: SessionBirth): SessionSnapshots | null;
  /** Makes a session of its birth, loaded from now on. @param snapshots those that were settled, of a session that was stored */
  open(store: Store, birth: SessionBirth, snapshots?: SessionSnapshots | null): OwnedSession;
  /** Set by `createSessions`, for commands. */
  sessions: Sessions | null;
}

function createHouse(deps: SessionsDeps): House {
  const permissionTimeout = seconds("permissionTimeout", deps.permissionTimeout, 0);
  const ttl = deps.ttl === null ? 0 : seconds("ttl", deps.ttl, DEFAULT_SESSION_TTL);
  const { clock = Date.now, monotonic = () => process.uptime() * 1000, randomHex = hex, onError = () => {} } = deps;
  const ephemeral = deps.ephemeral ?? createMemoryStore<SessionEvent, Summary>();
  const defaults: Settings = { ...DEFAULT_SETTINGS, ...deps.defaults };
  const loaded = createLoaded({
    ttl,
    monotonic,
    onError,
    async release({ id, persistent }) {
      // A log that lives in memory goes with its session.
      if (!persistent) await ephemeral.delete(id);
      deps.snapshots?.release(id);
      house.quota.forget(id);
      await deps.onUnload?.(id);
    },
  });
  const house: House = {
    deps,
    loaded,
    store: deps.store,
    ephemeral,
    defaults,
    start: (cwd) => ({ ...defaults, ...deps.flags?.(cwd) }),
    clock,
    randomHex,
    quota: createQuota(deps.quotas ?? {}, {
      loaded: loaded.all,
      clock,
      diskBytes: deps.files?.bytes ?? (async () => 0),
      stored: () => storedSessions(deps.store, deps.prefix),
      spentSince: (time) => spentSince(deps.store, deps.prefix, time, onError),
    }),
    sessions: null,
    snapshotsOf: ({ writer, cwd, directories }) =>
      deps.snapshots?.session(writer.id, { cwd, directories }, writer.requireHeld) ?? null,
    open(store, birth, snapshots = house.snapshotsOf(birth)) {
      const { id } = birth.writer;
      const measured = { id, owner: birth.owner };
      const session = createSession(
        {
          agent: deps.agent,
          resolveCommand: async (one, prompt, rewind) =>
            deps.commands?.resolve(sessionsFor(house.sessions!, prompt.sender), one, prompt, rewind),
          bound: deps.bound ?? ((settings) => settings),
          policy: deps.policy ?? byMode,
          store,
          snapshots,
          attachments: loaded.attachments(id),
          disk: deps.disk ?? plainFiles,
          clock,
          monotonic,
          newId: () => randomHex(4),
          permissionTimeout,
          coalesce: deps.coalesce ?? true,
          onSetting: deps.onSetting ?? (() => {}),
          admitPrompt: ({ sender, text, content }) =>
            house.quota.requirePrompt(sender?.name ?? birth.owner, measured, () =>
              Buffer.byteLength(JSON.stringify({ text, content })),
            ),
          onSpent: (usd) => house.quota.spent(birth.owner, id, usd),
          onSaved: () => house.quota.measure(measured).catch((error) => onError(error, id)),
          onError,
        },
        birth,
      );
      house.quota.spent(birth.owner, id, birth.conversation.facts.usage?.total_usd ?? 0);
      loaded.add(session);
      deps.onLoad?.(session);
      // Another process took the log over: from here on the session is loaded there.
      const leave = async () => (loaded.find(id) === session ? loaded.unload(id, "lost") : undefined);
      birth.writer.lost.addEventListener("abort", () => {
        loaded.inLane(id, leave).catch((error) => onError(error, id));
      });
      return session;
    },
  };
  return house;
}

/** Runs in the session's lane. An evicted session still has the settings that its clients gave it. */
async function close(house: House, id: string): Promise<void> {
  if (house.loaded.evicted(id)) await bring(house, id);
  await house.loaded.unload(id, "close");
}

/** Runs in the parent's lane. */
async function fork(house: House, id: string, { turn: asked, owner }: ForkOptions): Promise<OwnedSession> {
  const parent = house.loaded.find(id) ?? (await bring(house, id));
  parent.touch();
  const { turns } = parent.conversation;
  const turn = asked ?? turns.findLast((candidate) => candidate.ended)?.number;
  if (turn === undefined || !turns[turn]?.ended)
    throw new SessionError("nothing_to_fork", `session ${id} has no finished turn ${turn ?? ""}`.trimEnd());
  const store = parent.persistent ? house.store : house.ephemeral;
  let at = 0;
  const conversation = await foldLog(store, id, {
    take: (entry) => {
      if (!isLost(entry)) at = entry.seq;
    },
    until: (record) => record.turn === turn && endsTurn(record.type),
  });
  const inherited = new Set(house.deps.directories ?? []);
  const wanted: CreateOptions = {
    cwd: parent.cwd,
    directories: parent.directories.filter((directory) => !inherited.has(directory)),
    persist: parent.persistent,
    settings: parent.settings,
    ...(owner !== undefined && { owner }),
  };
  const admitted = (await house.deps.admit?.(wanted)) ?? wanted;
  const settings = { ...parent.settings, ...admitted.settings };
  const { maxSteps, maxCostUsd, allowedTools } = settings;
  // Made as its parent was, so that closing it leads back to no more than closing the parent does.
  const { bounds = {} } = parent.summary();
  const made = madeWith(house.start(admitted.cwd), { ...bounds, maxSteps, maxCostUsd, allowedTools });
  // What was changed in the parent after the turn holds in the child, too: a fork must not widen anything, whenever it is cut off.
  const added = [
    { type: "forked", metadata: { from: id, at } } as const,
    ...changesBetween(settingsOf(made, conversation.settings), settings),
    // Who may read the parent is no reason to read the child.
    ...(conversation.facts.isShared ? [{ type: "sharing_changed", metadata: { shared: false } } as const] : []),
  ].map((event) => bodyOf(event, { turn: null }));
  for (const event of added) conversation.apply(event);
  const child = await born(
    house,
    { ...admitted, settings: made, parentId: id },
    conversation,
    (target, childId, summary) => target.copy(id, childId, { upTo: at, summary, added }),
  );
  await child.durable(child.lastSeq);
  return child;
}
