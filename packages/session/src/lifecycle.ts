/** Makes, loads, closes, tears down and deletes sessions. */
import type { Lost, SessionRecord } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { isSessionError, namedError, notFound } from "./errors.js";
import { createHouse, type House } from "./house.js";
import { endOf } from "./loaded.js";
import { createCollected, createLogs, foldLog } from "./logs.js";
import { create } from "./new-session.js";
import { bodyOf } from "./recorder.js";
import { recoverRestores, settleFiles } from "./recover.js";
import type { OwnedSession } from "./session.js";
import { createLogHold } from "./session-parts.js";
import type { Sessions, SessionsDeps } from "./sessions.js";
import { changesBetween, narrower, stricterBounds } from "./settings.js";
import { readStored, refusal, rememberedBirth, summaryOf } from "./stored.js";

/**
 * Makes the `Sessions` of a program.
 * Throws `invalid_setting` for a time that is not a finite number of seconds of at least 0.
 *
 * @example
 * const sessions = createSessions({ agent, store: createMemoryStore(), prefix: "mine", defaults: { model: "offline" } });
 * const session = await sessions.create({ cwd: process.cwd() });
 */
export function createSessions(deps: SessionsDeps): Sessions {
  const house = createHouse(deps);
  const { loaded, store } = house;
  const sessions: Sessions = {
    prefix: deps.prefix,
    defaults: house.defaults,
    quota: { ...deps.quotas, ...house.quota },
    logs: createLogs(store, house.ephemeral, loaded),
    find: loaded.find,
    attach: loaded.attach,
    clients: loaded.clients,
    onLoad: loaded.onLoad,
    evictIdle: loaded.evictIdle,
    drain() {
      house.isDraining = true;
    },
    isDraining: () => house.isDraining,
    shutdown: loaded.shutdown,
    live: () => loaded.all().sort((a, b) => b.touchedAt - a.touchedAt),
    async create(options) {
      loaded.evictIdle();
      house.requireWork();
      await house.quota.ready();
      if (options.prompted) house.quota.requireTurn(options.owner);
      return create(house, options);
    },
    async load(id) {
      loaded.evictIdle();
      await house.quota.ready();
      const present = loaded.find(id);
      present?.touch();
      if (present) return present;
      return loaded.bringIn(id, async () => loaded.find(id) ?? load(house, id));
    },
    read: async (id) => loaded.find(id) ?? readStored(house, id),
    async loadVisible(id) {
      const collected = createCollected();
      await house.quota.ready();
      const session =
        loaded.find(id) ?? (await loaded.bringIn(id, async () => loaded.find(id) ?? load(house, id, collected.take)));
      session.touch();
      return { session, head: session.lastSeq, visible: collected.visible(sessions.logs, session) };
    },
    list: (options) =>
      sessions.listAll({ prefixes: [deps.prefix], order: "touched", prompted: true, closed: false, ...options }),
    async listAll(options) {
      loaded.evictIdle();
      const here = loaded.all().filter(({ id, persistent }) => persistent && loaded.find(id));
      const rows = here.map((one) => ({ id: one.id, summary: one.summary(), touched: one.touchedAt }));
      return store.list({ ...options, known: new Map(rows.map((row) => [row.id, row])) });
    },
    async fork(id, options = {}) {
      await house.quota.ready();
      return loaded.bringIn(id, async () => {
        const { fork } = await import("./fork.js");
        return fork(house, id, options);
      });
    },
    close: (id) => loaded.inLane(id, () => close(house, id)),
    ...createRemovals(house),
    settle: (id) =>
      loaded.bringIn(id, async () => {
        if (loaded.find(id)) return;
        await load(house, id);
        await loaded.unload(id, "shutdown");
      }),
  };
  house.sessions = sessions;
  return sessions;
}

// --- internal ---

/** Loads a stored session. `take` gets each entry of its log. */
async function load(house: House, id: string, take?: (entry: SessionRecord | Lost) => void): Promise<OwnedSession> {
  const { store, deps } = house;
  const naming = refusal(house, id);
  const summary = await summaryOf(house, id);
  const writer = createLogHold(await store.open(id).catch(naming));
  const rested = house.loaded.resting(id);
  if (rested?.takeUp(writer)) {
    house.loaded.takenUp(rested);
    return rested;
  }
  try {
    // Another process has written to the log since, so the session in memory is out of date.
    if (rested) await house.loaded.unload(id, "lost");
    const conversation = await foldLog(store, id, take ? { take } : {});
    if (conversation.facts.isTornDown) {
      // The process that tore the session down died before it wrote the summary.
      await endTearDown(house, summary);
      throw notFound(id);
    }
    const evicted = house.loaded.evicted(id);
    const asEvicted = evicted?.end === endOf(writer) ? evicted : null;
    const start = house.start(summary.cwd);
    const remembered = rememberedBirth(summary, start);
    const made = asEvicted?.made ?? { ...remembered.made, ...stricterBounds(remembered.made, start) };
    const birth = { writer, conversation, ...remembered, made };
    const snapshots = house.snapshotsOf(store, birth);
    await settleFiles(snapshots, deps.onRecovered);
    const session = house.open(store, birth, snapshots);
    // After a restart, the settings must be no wider than those of this program, and no wider than a person made them.
    const kept = asEvicted ? session.settings : narrower(session.settings, start, deps.orders ?? {});
    for (const event of changesBetween(session.settings, kept)) session.record(event).catch(() => {});
    return session;
  } catch (error) {
    deps.snapshots?.release(id);
    await writer.close().catch(() => {});
    throw namedError(error, id);
  }
}

/**
 * Closes a session. Runs in its lane. A session that is not in memory is loaded first, because closing also resets its settings and ends
 * what a crash left unfinished. If it cannot be loaded for one of the given reasons, it stays as it is.
 */
async function close(house: House, id: string, ...unless: readonly string[]): Promise<void> {
  if (!house.loaded.find(id)) {
    await load(house, id).catch((error) => {
      // A session that does not exist need not be closed.
      if (!isSessionError(error) || !["session_not_found", ...unless].includes(error.code)) throw error;
    });
  }
  await house.loaded.unload(id, "close");
}

/** Tears sessions down or deletes them, and calls the listeners. */
function createRemovals(house: House): Pick<Sessions, "tearDown" | "delete" | "onRemove"> {
  const { deps, loaded, store, quota } = house;
  const listeners = new Set<Parameters<Sessions["onRemove"]>[0]>();
  const removing = (work: (house: House, id: string) => Promise<void>) => (id: string) =>
    loaded.inLane(id, async () => {
      const last = loaded.find(id)?.summary() ?? (await store.readSummary(id).catch(() => null));
      await work(house, id).catch(refusal(house, id));
      await deps.files?.remove(id);
      await quota.measure({ id, owner: last?.owner });
      for (const listener of listeners) listener(id, last);
    });
  return {
    tearDown: removing(tearDown),
    delete: removing(remove),
    onRemove(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Deletes a session with its log and its snapshots. Runs in the session's lane. */
async function remove({ deps, loaded, ephemeral, store }: House, id: string): Promise<void> {
  const isHere = (await ephemeral.has(id)) || (await store.has(id));
  await loaded.unload(id, "close");
  await ephemeral.delete(id);
  if (deps.snapshots) await recoverRestores(store, deps.snapshots, deps.onRecovered, { session: id });
  await store.delete(id);
  // Several stores may share snapshots: those of an unknown id are of use to the store that has its log.
  if (isHere) await deps.snapshots?.clear(id);
}

/** Ends a session for good but keeps its log. Runs in the session's lane. */
async function tearDown(house: House, id: string): Promise<void> {
  const { deps, loaded, ephemeral, store: stored } = house;
  const isPersistent = loaded.find(id)?.persistent ?? true;
  const store = isPersistent ? stored : ephemeral;
  const known = await store.readSummary(id).catch(() => null);
  if (!known || known.closed) throw notFound(id);
  await close(house, id, "forbidden_directory", "invalid_setting");
  // A log in memory was deleted when its session closed.
  if (!isPersistent) return deps.snapshots?.clear(id);
  const last = (await store.readSummary(id)) ?? known;
  if (last.closed) throw notFound(id);
  if (deps.snapshots) await recoverRestores(store, deps.snapshots, deps.onRecovered, { session: id });
  // Hold the log meanwhile. This fails if another process has the session, which still needs its snapshots.
  const writer = await store.open(id);
  try {
    writer.append([bodyOf({ type: "torn_down", metadata: {} }, { turn: null })]);
    await writer.durable();
    await endTearDown(house, last);
  } finally {
    await writer.close();
  }
}

/** The steps of a tear-down after its record: the summary, then the snapshots. */
async function endTearDown({ deps, store }: House, summary: Summary): Promise<void> {
  await store.writeSummary(summary.session_id, { ...summary, closed: true });
  await deps.snapshots?.clear(summary.session_id);
}
