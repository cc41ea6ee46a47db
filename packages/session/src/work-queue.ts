/** The work of one session, one job at a time: turns in the order their prompts were accepted, undo and redo between them. */
import { SessionError } from "./errors.js";

/** A prompt that was accepted. */
export interface QueuedTurn {
  readonly turn: number;
  /** Takes the turn from its start to its last record. */
  run(signal: AbortSignal): Promise<void>;
  /** Called when `run` failed, once the turn no longer counts as running. Never rejects. */
  recover(error: unknown): Promise<void>;
}

export type WorkQueue = ReturnType<typeof createWorkQueue>;

export function createWorkQueue() {
  let waiting: Job[] = [];
  let running: RunningJob | null = null;
  let isWorking = false;
  let isStopped = false;
  const waiters = new Set<() => void>();

  const work = async (): Promise<void> => {
    isWorking = true;
    for (let job = waiting.shift(); job; job = waiting.shift()) {
      const abort = new AbortController();
      const now: RunningJob = { turn: job.turn, abort, cancelled: false, done: Promise.resolve() };
      running = now;
      const outcome = job.run(abort.signal).then(
        () => null,
        (error: unknown) => ({ error }),
      );
      now.done = outcome.then(() => {});
      const failure = await outcome;
      running = null;
      if (failure) await job.recover(failure.error);
    }
    isWorking = false;
    for (const wake of waiters) wake();
    waiters.clear();
  };
  const add = (job: Job): void => {
    waiting.push(job);
    if (!isWorking) void work();
  };

  return {
    /** The turn that runs; null between turns. */
    get current() {
      if (!running || running.turn === null) return null;
      const signal: AbortSignal = running.abort.signal;
      return { turn: running.turn, signal, cancelled: running.cancelled };
    },
    get waiting() {
      return turnsOf(waiting);
    },
    /** Work between turns, an undo, runs or waits. */
    get isAlone() {
      return [running, ...waiting].some((job) => job?.turn === null);
    },
    /** Turns that run or wait. */
    busy: () => new Set(turnsOf(running ? [running, ...waiting] : waiting)),
    add: (turn: QueuedTurn) => add({ ...turn, drop() {} }),
    /** Runs work that needs the session to itself, in its turn. Rejects with `session_closed` when the session closes first. */
    alone: <T>(job: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const drop = () => reject(new SessionError("session_closed", "the session was closed before its work began"));
        if (isStopped) drop();
        else add({ turn: null, drop, recover: async () => {}, run: () => job().then(resolve, reject) });
      }),
    /** Takes waiting turns out of the queue; returns them. */
    forget(which: (turn: number) => boolean) {
      const gone = waiting.filter(({ turn }) => turn !== null && which(turn));
      waiting = waiting.filter((job) => !gone.includes(job));
      return turnsOf(gone);
    },
    /** Ends the running turn because a client asked for it; false when there is none, or it is ending already. */
    cancel() {
      if (!running || running.turn === null || running.abort.signal.aborted) return false;
      running.cancelled = true;
      running.abort.abort();
      return true;
    },
    /** Ends the running turn because it cannot go on. */
    abort: () => running?.abort.abort(),
    /** Ends the running turn and starts nothing more; returns the turns that waited. */
    stop() {
      isStopped = true;
      running?.abort.abort();
      const left = waiting.splice(0);
      for (const { drop } of left) drop();
      return turnsOf(left);
    },
    /** Resolves when the job that runs now, if any, has finished. */
    quiet: async () => running?.done,
    /** Resolves when nothing runs and nothing waits. */
    idle: () => (isWorking ? new Promise<void>((resolve) => waiters.add(resolve)) : Promise.resolve()),
  };
}

// --- internal ---

interface Job extends Omit<QueuedTurn, "turn"> {
  /** Null for work between turns. */
  readonly turn: number | null;
  /** The queue was stopped before the job began. */
  drop(): void;
}

interface RunningJob extends Pick<Job, "turn"> {
  readonly abort: AbortController;
  done: Promise<void>;
  cancelled: boolean;
}

function turnsOf(jobs: readonly Pick<Job, "turn">[]): number[] {
  return jobs.flatMap(({ turn }) => turn ?? []);
}
