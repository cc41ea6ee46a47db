/** Runs each scheduled job once at the end of the current turn of the event loop, in the order they asked first. */
export interface Tick {
  schedule(job: () => void): void;
}

/** One `setImmediate` serves every session that wrote in this turn. */
export function createTick(): Tick {
  let jobs = new Set<() => void>();
  const run = (): void => {
    const due = jobs;
    jobs = new Set();
    for (const job of due) job();
  };
  return {
    schedule(job) {
      if (jobs.size === 0) setImmediate(run);
      jobs.add(job);
    },
  };
}
