/** Threads of the process that work on files, and how many of them sync logs. */
import { stat } from "node:fs";

/** Measured with 500 sessions that write: eight syncs at once take half the time of two, and reads still find four threads. */
const THREADS = 12;
export const SYNCS_IN_FLIGHT = THREADS - 4;

const SIZE = "UV_THREADPOOL_SIZE";

/** To be called before anything waits for a file. The first use of the threads reads how many there are to be; children need not see it. */
export function startFileThreads(env: NodeJS.ProcessEnv): void {
  if (env[SIZE] !== undefined) return;
  env[SIZE] = String(THREADS);
  stat(".", () => {});
  delete env[SIZE];
}
