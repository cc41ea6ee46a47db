// Loaded into a server before its program, with --expose-gc: at SIGUSR2 it collects garbage and writes down what is left.
import { writeFileSync } from "node:fs";

process.on("SIGUSR2", () => {
  // Twice, with a turn of the loop between: what the first frees may be held by callbacks that have yet to run.
  globalThis.gc();
  setTimeout(() => {
    globalThis.gc();
    const { rss, heapTotal, heapUsed } = process.memoryUsage();
    // What the collector holds free for the next burst, tens of megabytes or two, says nothing of what is kept.
    const inUse = rss - (heapTotal - heapUsed);
    writeFileSync(process.env.SOAK_GAUGE, JSON.stringify({ rss, inUse, heapUsed }));
  }, 100);
});
