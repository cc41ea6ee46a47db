import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: ["test/browser/install.ts"],
    include: ["test/browser/transcript.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
