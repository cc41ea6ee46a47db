// One server for all files: each store gets a database of its own.
import { startOwnPostgres, startPostgres } from "@chimera/store-postgres/testing";

export default async function start(): Promise<() => Promise<void>> {
  // Some tests leave stores to the end of their file.
  const server = process.env["CHIMERA_TEST_POSTGRES"]
    ? await startPostgres(process.env)
    : await startOwnPostgres(process.env, { max_connections: "2000" });
  process.env["CHIMERA_TEST_POSTGRES"] = server.url;
  return () => server.stop();
}
