/** A fault that was not injected proves nothing: every case counts itself, and the count must be the one expected. */
import { expect } from "vitest";

export interface Tally {
  done(): void;
  /** Prints and checks the count. */
  close(): void;
}

export function tally(name: string, expected: number): Tally {
  let executed = 0;
  return {
    done() {
      executed += 1;
    },
    close() {
      console.log(`${name}: executed ${executed} of ${expected} expected`);
      expect(executed).toBeGreaterThan(0);
      expect(executed).toBe(expected);
    },
  };
}
