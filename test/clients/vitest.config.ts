// What `npm run test:clients` runs: clients from npm, which need the network, editors of Debian, and runs that take minutes.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { root: import.meta.dirname, include: ["*.client.ts"], testTimeout: 300_000, hookTimeout: 300_000 },
});
