import { foldConversation } from "@chimera/acp-schema/conversation";
import { born, bring, close, createHouse, fork, remove, tearDown } from "./lifecycle.js";
import { createCollected, createLogs } from "./logs.js";
import type { Sessions, SessionsDeps } from "./sessions.js";
import { madeWith, requireModelName } from "./settings.js";

/** Throws `invalid_setting` for a time that is not a finite number of seconds of at least 0. */
export function createSessions(deps: SessionsDeps): Sessions {
  const house = createHouse(deps);
  const { loaded, store } = house;
  const sessions: Sessions = {
    prefix: deps.prefix,
    defaults: house.defaults,
    store,
    logs: createLogs(store, house.ephemeral, loaded),
    find: loaded.find,
    attach: loaded.attach,
    onLoad: loaded.onLoad,
    evictIdle: loaded.evictIdle,
    shutdown: loaded.shutdown,
    live: () => loaded.all().sort((a, b) => b.touchedAt - a.touchedAt),
    async create(options) {
      loaded.evictIdle();
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
      return present ?? loaded.inLane(id, async () => loaded.find(id) ?? bring(house, id));
    },
    async loadVisible(id) {
      const collected = createCollected();
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
    fork: (id, { turn } = {}) => loaded.inLane(id, () => fork(house, id, turn)),
    close: (id) => loaded.inLane(id, () => close(house, id)),
    tearDown: (id) => loaded.inLane(id, () => tearDown(house, id)),
    delete: (id) => loaded.inLane(id, () => remove(house, id)),
  };
  house.sessions = sessions;
  return sessions;
}
