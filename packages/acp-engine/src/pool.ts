/** Keeps the programs of one engine: one for each workspace, shared by its sessions and ended when no session needs it. */
import { backoff } from "@chimera/acp-schema/timer";
import { limits } from "./limits.js";
import type { EngineProgram } from "./program.js";

export type Pool = ReturnType<typeof createPool>;

/** A program in use, until it is released. */
export interface Lease {
  readonly program: EngineProgram;
  release(): void;
}

export function createPool(start: (cwd: string) => Promise<EngineProgram>, clock: () => number) {
  const slots = new Map<string, Slot>();
  /** How many starts in a row have failed, or led to programs that ended soon. */
  let failures = 0;
  let mayStartAt = 0;

  const delayNextStart = (): void => {
    mayStartAt = clock() + backoff(failures++, limits.firstWaitMs, limits.longestWaitMs);
  };

  const open = async (cwd: string, slotOf: () => Slot): Promise<EngineProgram> => {
    const wait = mayStartAt - clock();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const startedAt = clock();
    try {
      const program = await start(cwd);
      program.ended.addEventListener("abort", () => {
        const slot = slotOf();
        if (slots.get(cwd) === slot) slots.delete(cwd);
        clearTimeout(slot.idle);
        if (slot.isClosing) return;
        if (clock() - startedAt < limits.quickMs) delayNextStart();
        else failures = 0;
      });
      return program;
    } catch (error) {
      slots.delete(cwd);
      delayNextStart();
      throw error;
    }
  };

  const end = async (slot: Slot): Promise<void> => {
    slot.isClosing = true;
    clearTimeout(slot.idle);
    await (await slot.program.catch(() => null))?.end();
  };

  return {
    /** Returns the program of a workspace and starts it if needed. */
    async take(cwd: string): Promise<Lease> {
      const slot: Slot = slots.get(cwd) ?? {
        users: 0,
        idle: undefined,
        isClosing: false,
        program: open(cwd, () => slot),
      };
      slots.set(cwd, slot);
      slot.users++;
      clearTimeout(slot.idle);
      const release = () => {
        // If the slot was replaced, its program has ended.
        if (--slot.users > 0 || slots.get(cwd) !== slot) return;
        slot.idle = setTimeout(() => {
          slots.delete(cwd);
          void end(slot);
        }, limits.idleMs).unref();
      };
      return { program: await slot.program, release };
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
  readonly program: Promise<EngineProgram>;
  users: number;
  idle: NodeJS.Timeout | undefined;
  isClosing: boolean;
}
