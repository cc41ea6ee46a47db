import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "vitest";
import { createStore } from "../src/backend/index.js";
import {
  createExampleBackend,
  createExampleTable,
  describeEventStore,
  type SuiteEvent,
  type SuiteSummary,
} from "../src/conformance.js";
import { createFileStore, createMemoryStore, type Durability } from "../src/index.js";

describeEventStore(
  { describe, it },
  {
    name: "memory",
    async open() {
      const store = createMemoryStore<SuiteEvent, SuiteSummary>();
      return { store, close: () => store.close() };
    },
  },
);

describeEventStore(
  { describe, it },
  {
    name: "the example of a backend",
    async open() {
      const table = createExampleTable<SuiteSummary>();
      const store = createStore(createExampleBackend<SuiteEvent, SuiteSummary>(table));
      const second = createStore(createExampleBackend<SuiteEvent, SuiteSummary>(table));
      return { store, second, close: () => Promise.all([store.close(), second.close()]).then(() => {}) };
    },
  },
);

for (const durability of ["turn", "event", "none"] satisfies Durability[]) {
  describeEventStore(
    { describe, it },
    {
      name: `files, durability ${durability}`,
      async open() {
        const root = await mkdtemp(join(tmpdir(), "event-store-"));
        const store = createFileStore<SuiteEvent, SuiteSummary>({ root, durability });
        const second = createFileStore<SuiteEvent, SuiteSummary>({ root, durability });
        return {
          store,
          second,
          async close() {
            await store.close();
            await second.close();
            await rm(root, { recursive: true, force: true });
          },
        };
      },
    },
  );
}
