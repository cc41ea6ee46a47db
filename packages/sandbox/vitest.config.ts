import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { globalSetup: ["test/escapes/install.ts"], testTimeout: 30_000, hookTimeout: 120_000 },
});
