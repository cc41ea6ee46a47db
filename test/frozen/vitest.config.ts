// What makes the frozen home; no part of `npm test`.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { root: import.meta.dirname, include: ["make-home.ts"], testTimeout: 600_000 },
});
