// `@chimera/event-store` with every store in PostgreSQL: a database takes the place of a directory, or of the memory.
import { openPostgres } from "@chimera/store-postgres";
import { startPostgres, type TestDatabase } from "@chimera/store-postgres/testing";
import { afterAll } from "vitest";
import type { EventBody, EventStore, Subscription, SummaryForm } from "../../packages/event-store/dist/index.js";

// biome-ignore lint/performance/noReExportAll: everything else stays the same.
export * from "../../packages/event-store/dist/index.js";

interface Options<E extends EventBody, S extends object> {
  readonly root?: string;
  readonly summaries?: SummaryForm<E, S>;
  readonly clock?: () => number;
}

export function createFileStore<E extends EventBody, S extends object>(options: Options<E, S>): EventStore<E, S> {
  return openSoon(options, options.root ?? "");
}

export function createMemoryStore<E extends EventBody, S extends object>(
  options: Options<E, S> = {},
): EventStore<E, S> {
  return openSoon(options, `memory ${++memories}`);
}

// --- internal ---

let memories = 0;
const server = startPostgres(process.env);
const databases = new Map<string, Promise<TestDatabase>>();
afterAll(async () => {
  await Promise.all([...databases.values()].map(async (made) => (await made).drop()));
});

function databaseOf(place: string): Promise<TestDatabase> {
  const made = databases.get(place) ?? server.then(({ database }) => database());
  databases.set(place, made);
  return made;
}

/** A store that can be used at once: its calls wait until it is open. */
function openSoon<E extends EventBody, S extends object>(options: Options<E, S>, place: string): EventStore<E, S> {
  const { summaries, clock } = options;
  const opening = databaseOf(place)
    .then(({ url }) =>
      openPostgres<E, S>({ url, workspaceHost: "here", ...(summaries && { summaries }), ...(clock && { clock }) }),
    )
    .then(({ store }) => store);
  opening.catch(() => {});
  const later = <K extends keyof EventStore<E, S>>(name: K) =>
    (async (...given: never[]) => ((await opening)[name] as (...args: never[]) => unknown)(...given)) as EventStore<
      E,
      S
    >[K];
  return {
    create: later("create"),
    open: later("open"),
    has: later("has"),
    copy: later("copy"),
    importLog: later("importLog"),
    lastSeq: later("lastSeq"),
    readSummary: later("readSummary"),
    writeSummary: later("writeSummary"),
    list: later("list"),
    delete: later("delete"),
    sweep: later("sweep"),
    close: later("close"),
    async *read(id, range) {
      yield* (await opening).read(id, range);
    },
    subscribe(id, given, reader): Subscription {
      const left = new AbortController();
      const signal = given.signal ? AbortSignal.any([given.signal, left.signal]) : left.signal;
      const subscribing = opening.then((store) => store.subscribe(id, { ...given, signal }, reader));
      let begun: Subscription | undefined;
      const ended = subscribing.then((subscription) => {
        begun = subscription;
        return subscription.ended;
      });
      ended.catch(() => {});
      return {
        get cursor() {
          return begun?.cursor ?? 0;
        },
        ended,
        close: () => left.abort(),
      };
    },
  };
}
