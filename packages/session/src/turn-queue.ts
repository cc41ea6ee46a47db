/** Prompts in the order they were accepted, one turn at a time. */
import type { Turn } from "./agent-port.js";
import type { SessionState } from "./session.js";

export interface QueuedTurn {
  readonly turn: number;
  readonly prompt: Turn["prompt"];
  readonly origin?: string | undefined;
}

export interface TurnQueue {
  readonly state: SessionState;
  /** Turns that wait. */
  readonly length: number;
  /** The turn that runs. */
  readonly current: number | null;
  /** Turns that run or wait. */
  busy(): ReadonlySet<number>;
  /** Starts the turn, or puts it behind the others. */
  add(next: QueuedTurn): void;
  /** Takes turns that wait out of the queue. */
  forget(which: (turn: number) => boolean): number[];
  /** Ends the running turn on somebody's wish; false when there is none, or it is ending already. */
  cancel(): boolean;
  /** Ends the running turn because it cannot go on. */
  abort(): void;
  /** Ends the running turn and starts no other; returns the turns that waited. */
  stop(): number[];
  /** Resolves when the running turn, if any, has let go. */
  quiet(): Promise<void>;
  /** Resolves when nothing runs and nothing waits. */
  idle(): Promise<void>;
}

export function createTurnQueue(deps: {
  run(next: QueuedTurn, signal: AbortSignal): Promise<void>;
  /** A turn could not be carried to its last record. */
  recover(error: unknown): Promise<void>;
}): TurnQueue {
  let waiting: QueuedTurn[] = [];
  let running: { readonly turn: number; readonly abort: AbortController; readonly done: Promise<void> } | null = null;
  let state: SessionState = "idle";
  let stopped = false;
  const waiters = new Set<() => void>();

  async function work(): Promise<void> {
    for (let next = waiting.shift(); next && !stopped; next = waiting.shift()) {
      state = "running";
      let release = () => {};
      const done = new Promise<void>((resolve) => {
        release = resolve;
      });
      running = { turn: next.turn, abort: new AbortController(), done };
      const failure = await deps.run(next, running.abort.signal).then(
        () => null,
        (error: unknown) => ({ error }),
      );
      running = null;
      release();
      // What recovers may fail as the turn did; the queue goes on either way.
      if (failure) await deps.recover(failure.error).catch(() => {});
    }
    state = "idle";
    for (const wake of waiters) wake();
    waiters.clear();
  }

  return {
    get state() {
      return state;
    },
    get length() {
      return waiting.length;
    },
    get current() {
      return running?.turn ?? null;
    },
    busy: () => new Set([...waiting.map(({ turn }) => turn), ...(running ? [running.turn] : [])]),
    add(next) {
      waiting.push(next);
      if (state !== "idle") return;
      state = "running";
      void work();
    },
    forget(which) {
      const gone = waiting.filter(({ turn }) => which(turn));
      waiting = waiting.filter(({ turn }) => !which(turn));
      return gone.map(({ turn }) => turn);
    },
    cancel() {
      if (!running || running.abort.signal.aborted) return false;
      state = "cancelled";
      running.abort.abort();
      return true;
    },
    abort() {
      running?.abort.abort();
    },
    stop() {
      stopped = true;
      running?.abort.abort();
      return waiting.splice(0).map(({ turn }) => turn);
    },
    quiet: () => running?.done ?? Promise.resolve(),
    idle: () => (state === "idle" ? Promise.resolve() : new Promise((resolve) => waiters.add(resolve))),
  };
}
