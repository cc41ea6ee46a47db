// Two nodes on one database, for the whole run: every request goes to either, and both are measured at rest.
import { canStartPostgres, startOwnPostgres } from "@chimera/store-postgres/testing";
import { createHttpClient } from "./http-client.mjs";
import { createLedger } from "./ledger.mjs";
import { addressOf } from "./program.mjs";
import { verify } from "./verify.mjs";

/** null where no PostgreSQL can be started. */
export async function startSteadyNodes({ programs, chance, ...shared }) {
  if (!canStartPostgres(process.env)) return null;
  const server = await startOwnPostgres(process.env);
  const { url } = await server.database();
  const flags = ["--store", url, "--workspace-host", "soak"];
  const nodes = [1, 2].map(() => programs.start(["serve", "--port", "0", ...flags], { gauge: true }));
  const addresses = await Promise.all(nodes.map(addressOf));
  // What is in the database is held against the database.
  const ledger = createLedger();
  const http = createHttpClient({ ...shared, chance, ledger, address: async () => chance.pick(addresses) });
  return {
    ledger,
    live: http.live,
    /** After the server of files was: by then nobody has wanted anything for long. */
    async atRest() {
      http.hangUp();
      await http.ask("GET", "/sessions?limit=1");
      http.hangUp();
      const found = [];
      for (const node of nodes) found.push(await programs.gauge(node));
      return found;
    },
    async verify() {
      http.hangUp();
      for (const node of nodes) await programs.end(node, "signal");
      return verify({ ...shared, programs, chance, ledger, flags });
    },
    stop: () => server.stop(),
  };
}
