/** The programs of one engine: one for each workspace, shared by its sessions, ended when nobody needs it. */
import { EngineError } from "./errors.js";
import { limits } from "./limits.js";
import type { EngineProgram } from "./program.js";

export type Pool = ReturnType<typeof createPool>;

export function createPool(start: (key: string) => Promise<EngineProgram>, clock: () => number) {
  const slots = new Map<string, Slot>();
  /** Starts that failed, or programs that ended, within a short time of their start. */
  let failures = 0;
  let mayStartAt = 0;

  const failed = (): void => {
    const wait = Math.min(limits.firstWaitMs * 2 ** failures, limits.longestWaitMs);
    failures++;
    mayStartAt = clock() + wait;
  };

  const open = async (key: string, slot: Slot): Promise<EngineProgram> => {
    const wait = mayStartAt - clock();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const startedAt = clock();
    try {
      const program = await start(key);
      program.ended.addEventListener("abort", () => {
        if (slots.get(key) === slot) slots.delete(key);
        clearTimeout(slot.idle);
        if (slot.isClosing) return;
        if (clock() - startedAt < limits.quickMs) failed();
        else failures = 0;
      });
      return program;
    } catch (error) {
      slots.delete(key);
      failed();
      throw error;
    }
  };

  const end = async (slot: Slot): Promise<void> => {
    slot.isClosing = true;
    clearTimeout(slot.idle);
    await (await slot.program.catch(() => null))?.end();
  };

  return {
    /** The program under that key, started if there is none; counts as in use until it is released. */
    async take(key: string): Promise<EngineProgram> {
      let slot = slots.get(key);
      if (!slot) {
        slot = { users: 0, idle: undefined, isClosing: false } as unknown as Slot;
        slots.set(key, slot);
        slot.program = open(key, slot);
        // Those who await it get the error; there may be none.
        slot.program.catch(() => {});
      }
      if (slot.isClosing) throw new EngineError("ended", "the program is being ended");
      slot.users++;
      clearTimeout(slot.idle);
      return slot.program;
    },
    release(key: string) {
      const slot = slots.get(key);
      if (!slot || --slot.users > 0) return;
      slot.idle = setTimeout(() => {
        slots.delete(key);
        void end(slot);
      }, limits.idleMs).unref();
    },
    async close() {
      const all = [...slots.values()];
      slots.clear();
      await Promise.all(all.map(end));
    },
  };
}

// --- internal ---

interface Slot {
  program: Promise<EngineProgram>;
  users: number;
  idle: NodeJS.Timeout | undefined;
  isClosing: boolean;
}
