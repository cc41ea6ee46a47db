/** The state that all operations on sessions share: loaded sessions, stores, start settings and quotas. */
import { randomBytes } from "node:crypto";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore, type EventStore } from "@chimera/event-store";
import type { SessionSnapshots } from "@chimera/snapshot-store";
import { createSession } from "./create-session.js";
import { SessionError } from "./errors.js";
import { DEFAULT_SESSION_TTL, seconds } from "./limits.js";
import { createLoaded, type Loaded } from "./loaded.js";
import { spentSince, storedSessions } from "./past-use.js";
import { sessionsFor } from "./people.js";
import { byMode } from "./policy.js";
import { createQuota, type Quota } from "./quota.js";
import { restoreLog } from "./recover.js";
import type { OwnedSession } from "./session.js";
import type { SessionBirth } from "./session-parts.js";
import type { Sessions, SessionsDeps } from "./sessions.js";
import { DEFAULT_SETTINGS, type Settings } from "./settings.js";
import { plainFiles } from "./workspace.js";

type Store = EventStore<SessionEvent, Summary>;

/** The state that all operations on sessions share. */
export interface House {
  readonly deps: SessionsDeps;
  readonly loaded: Loaded;
  readonly store: Store;
  readonly ephemeral: Store;
  readonly defaults: Settings;
  /** The settings with which a session in this directory starts now. */
  readonly start: (cwd: string) => Settings;
  readonly clock: () => number;
  readonly quota: Quota;
  snapshotsOf(store: Store, birth: SessionBirth): SessionSnapshots | null;
  /** Makes a session from its birth and keeps it loaded. @param snapshots those of a stored session, already settled */
  open(store: Store, birth: SessionBirth, snapshots?: SessionSnapshots | null): OwnedSession;
  /** True when the process is about to end: no new turns and sessions. */
  isDraining: boolean;
  /** Throws `draining` when the process is about to end. */
  requireWork(): void;
  /** Set by `createSessions`, for commands. */
  sessions: Sessions | null;
}

export function createHouse(deps: SessionsDeps): House {
  const permissionTimeout = seconds("permissionTimeout", deps.permissionTimeout, 0);
  const ttl = deps.ttl === null ? 0 : seconds("ttl", deps.ttl, DEFAULT_SESSION_TTL);
  const { clock = Date.now, monotonic = () => process.uptime() * 1000, onError = () => {} } = deps;
  const ephemeral = deps.ephemeral ?? createMemoryStore<SessionEvent, Summary>();
  const defaults: Settings = { ...DEFAULT_SETTINGS, ...deps.defaults };
  const loaded = createLoaded({
    ttl,
    hold: seconds("hold", deps.hold, 0),
    monotonic,
    onError,
    async release({ id, persistent }) {
      // A log in memory ends with its session.
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
    quota: quotaOf({ ...deps, clock, onError }, loaded),
    isDraining: false,
    requireWork() {
      if (house.isDraining) throw new SessionError("draining", "the server is about to end and takes no new turns");
    },
    sessions: null,
    snapshotsOf: (store, { writer, cwd, directories }) =>
      deps.snapshots?.session(writer.id, { cwd, directories }, restoreLog(store, writer)) ?? null,
    open(store, birth, snapshots = house.snapshotsOf(store, birth)) {
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
          newId: () => randomBytes(4).toString("hex"),
          permissionTimeout,
          coalesce: deps.coalesce ?? true,
          onSetting: deps.onSetting ?? (() => {}),
          admitPrompt({ sender, text, content }) {
            house.requireWork();
            const size = () => Buffer.byteLength(JSON.stringify({ text, content }));
            house.quota.requirePrompt(sender?.name ?? birth.owner, measured, size);
          },
          wake: () => house.sessions!.load(id),
          onSpent: (usd) => house.quota.spent(birth.owner, id, usd),
          onSaved: () => house.quota.measure(measured).catch((error) => onError(error, id)),
          onError,
        },
        birth,
      );
      house.quota.spent(birth.owner, id, birth.conversation.facts.usage?.total_usd ?? 0);
      loaded.add(session);
      unloadWhenLost(session, birth.writer.lost, loaded, onError);
      return session;
    },
  };
  return house;
}

// --- internal ---

type OnError = NonNullable<SessionsDeps["onError"]>;

function quotaOf(
  deps: SessionsDeps & { readonly clock: () => number; readonly onError: OnError },
  loaded: Loaded,
): Quota {
  const { store, prefix, clock, onError, elsewhere } = deps;
  return createQuota(deps.quotas ?? {}, {
    loaded: loaded.all,
    clock,
    diskBytes: deps.files?.bytes ?? (async () => 0),
    stored: () => storedSessions(store, prefix),
    spentSince: (time, isKnown) => spentSince(store, prefix, time, isKnown, onError),
    ...(elsewhere && { elsewhere }),
  });
}

/** Unloads the session here when another process takes over its log. */
function unloadWhenLost(session: OwnedSession, lost: AbortSignal, loaded: Loaded, onError: OnError): void {
  const { id } = session;
  const leave = async () => (loaded.find(id) === session ? loaded.unload(id, "lost") : undefined);
  const onLost = () => void loaded.inLane(id, leave).catch((error) => onError(error, id));
  // The log may have been lost while it was read.
  if (lost.aborted) onLost();
  else lost.addEventListener("abort", onLost, { once: true });
}
