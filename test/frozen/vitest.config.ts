// Makes the frozen home; not part of `npm test`.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { root: import.meta.dirname, include: ["make-home.ts"], testTimeout: 600_000 },
});
