import { afterAll, beforeAll } from "vitest";
import type { TestDatabase, TestServer } from "../src/testing.js";

/** Starts a server and creates a database for the tests of a file, or of the suite in which it is called. */
export function withDatabase<S extends TestServer>(
  start: (env: NodeJS.ProcessEnv) => Promise<S>,
  take: (database: TestDatabase, server: S) => void,
): void {
  let server: S | undefined;
  let database: TestDatabase | undefined;
  beforeAll(async () => {
    server = await start(process.env);
    database = await server.database();
    take(database, server);
  });
  afterAll(async () => {
    await database?.drop();
    await server?.stop();
  });
}
