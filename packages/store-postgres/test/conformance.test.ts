import { describeEventStore, type SuiteEvent, type SuiteSummary } from "@chimera/event-store/conformance";
import { describe, it } from "vitest";
import { openPostgres } from "../src/index.js";
import { startPostgres, type TestDatabase } from "../src/testing.js";
import { withDatabase } from "./with-database.js";

const needed = { tags: ["needs-postgres"] };
let database: TestDatabase;

withDatabase(startPostgres, (made) => (database = made));

describeEventStore(
  { describe: (name, body) => describe(name, needed, body), it },
  {
    name: "PostgreSQL",
    async open() {
      const { url } = database;
      await database.clear();
      const one = await openPostgres<SuiteEvent, SuiteSummary>({ url });
      const other = await openPostgres<SuiteEvent, SuiteSummary>({ url });
      return {
        store: one.store,
        second: other.store,
        async close() {
          await one.close();
          await other.close();
        },
      };
    },
  },
);
