// What `npm run test:engines` runs: agents from npm behind otter. They need the network once, to be installed, and two gigabytes.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.engine.ts"],
    testTimeout: 180_000,
    hookTimeout: 600_000,
    // The agents are large; two at once would only wait for each other.
    fileParallelism: false,
  },
});
