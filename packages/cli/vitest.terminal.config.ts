import { defineConfig } from "vitest/config";

/** Needs tmux, and says so when it is not there. */
export default defineConfig({ test: { include: ["test/*.tty.ts"], testTimeout: 60_000, hookTimeout: 60_000 } });
