// What `npm run test:live` runs: one real model of each provider whose key is set. It needs the network, and costs a few cents.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { root: import.meta.dirname, include: ["*.live.ts"], testTimeout: 180_000 },
});
