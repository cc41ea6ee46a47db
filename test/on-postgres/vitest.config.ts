// What `npm run test:postgres` runs: the suites of sessions and of the HTTP server once more, with every store in PostgreSQL. Tests that
// look into files, or set the clock of a process that talks to a database, have the tag `needs-files` and are left out.
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { needTags } from "../../scripts/needs.mjs";

const packages = join(import.meta.dirname, "../../packages");
process.env["CHIMERA_SESSIONS_IN"] = "postgres";

export default defineConfig({
  test: {
    globalSetup: join(import.meta.dirname, "start-server.ts"),
    tags: await needTags(),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: ["session", "http-server"].map((name) => ({
      extends: true,
      test: { name, root: join(packages, name), include: ["test/**/*.test.ts"] },
      resolve: {
        alias: [{ find: /^@chimera\/event-store$/, replacement: join(import.meta.dirname, "event-store.ts") }],
      },
    })),
  },
});
