import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: ["packages/*", "apps/*", "test"],
    testTimeout: 20_000,
  },
});
