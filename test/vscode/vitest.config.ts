import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/vscode/*.window.ts"], testTimeout: 120_000, hookTimeout: 900_000 },
});
