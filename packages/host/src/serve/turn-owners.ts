/** Finds the turn whose work rejected without a handler, so that the turn ends and not the process. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Trace } from "@chimera/agent";

export interface TurnOwners {
  readonly trace: Trace;
  /** Ends the turn that owns what runs now; false when none does. */
  fail(error: Error): boolean;
}

/**
 * While anything is traced, every promise of the process costs more: a fifth of the time of a streamed answer on Node 20. So it
 * begins with a turn's first tool, and ends with the last turn that had one.
 */
export function createTurnOwners(): TurnOwners {
  const storage = new AsyncLocalStorage<Owner>();
  let traced = 0;
  return {
    trace(fail) {
      const owner: Owner = { fail };
      let isTraced = false;
      return {
        run(work) {
          if (owner.fail === null) return work();
          if (!isTraced) traced++;
          isTraced = true;
          return storage.run(owner, work);
        },
        end() {
          owner.fail = null;
          if (isTraced && --traced === 0) storage.disable();
        },
      };
    },
    fail(error) {
      const fail = storage.getStore()?.fail;
      fail?.(error);
      return Boolean(fail);
    },
  };
}

// --- internal ---

/** Kept alive by whatever a tool makes that outlives its turn, a watch or a connection: so it holds nothing by then. */
interface Owner {
  fail: ((error: Error) => void) | null;
}
