import { describeEventStore, type SuiteEvent, type SuiteSummary } from "@chimera/event-store/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { openPostgres } from "../src/index.js";
import { startPostgres, type TestDatabase, type TestServer } from "../src/testing.js";

const needed = { tags: ["needs-postgres"] };
let server: TestServer;
let database: TestDatabase;

beforeAll(async () => {
  server = await startPostgres(process.env);
  database = await server.database();
});
afterAll(async () => {
  await database?.drop();
  await server?.stop();
});

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
