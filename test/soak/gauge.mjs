// Loaded into a server before its program, with --expose-gc: at SIGUSR2 it collects garbage and writes down what is left.
import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { getHeapSpaceStatistics } from "node:v8";

process.on("SIGUSR2", async () => {
  // Twice, with a turn of the loop between: what the first frees may be held by callbacks that have yet to run.
  globalThis.gc();
  await pause(100);
  globalThis.gc();
  // Pages that a collection has emptied are in no space any more; another thread gives them back a few milliseconds later.
  await pause(100);
  const { rss, heapUsed } = process.memoryUsage();
  // What the collector holds free for the next burst, tens of megabytes or two, says nothing of what is kept. Only what of it
  // was ever touched is resident.
  const spaces = getHeapSpaceStatistics();
  const reserve = spaces.reduce((sum, space) => sum + space.physical_space_size - space.space_used_size, 0);
  const inUse = rss - reserve;
  writeFileSync(process.env.SOAK_GAUGE, JSON.stringify({ rss, inUse, heapUsed }));
});
