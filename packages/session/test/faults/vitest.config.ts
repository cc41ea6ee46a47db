import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/faults/*.fault.ts"], fileParallelism: false, testTimeout: 1_200_000 },
});
