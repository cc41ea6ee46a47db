import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/escapes/full.ts"], testTimeout: 30_000, hookTimeout: 120_000 },
});
