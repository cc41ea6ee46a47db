/** Runs at most so many pieces of work at a time; the others wait in line. */
export interface Slots {
  /** Waits for a slot; the returned function gives it back. */
  enter(): Promise<() => void>;
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function createSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;

  const enter = async (): Promise<() => void> => {
    if (taken < count) taken++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return () => {
      const next = waiting.shift();
      if (next === undefined) taken--;
      else next();
    };
  };

  return {
    enter,
    async run(work) {
      const leave = await enter();
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
