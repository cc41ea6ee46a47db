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
  const worker = createWorker();
  let isStopped = false;

  return {
    /** The turn that runs; null between turns. */
    get current() {
      const { running } = worker;
      if (!running || running.turn === null) return null;
      const signal: AbortSignal = running.abort.signal;
      return { turn: running.turn, signal, cancelled: running.cancelled };
    },
    get waiting() {
      return turnsOf(worker.waiting);
    },
    /** Work between turns, an undo, runs or waits. */
    get isAlone() {
      return worker.all().some(({ turn }) => turn === null);
    },
    /** Turns that run or wait. */
    busy: () => new Set(turnsOf(worker.all())),
    add: (turn: QueuedTurn) => worker.add({ ...turn, drop() {} }),
    /** Runs work that needs the session to itself, in its turn. Rejects with `session_closed` when the session closes first. */
    alone: <T>(job: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const drop = () => reject(new SessionError("session_closed", "the session was closed before its work began"));
        if (isStopped) drop();
        else worker.add({ turn: null, drop, recover: async () => {}, run: () => job().then(resolve, reject) });
      }),
    /** Takes waiting turns out of the queue; returns them. */
    forget: (which: (turn: number) => boolean) => turnsOf(worker.remove(({ turn }) => turn !== null && which(turn))),
    /** Ends the running turn because a client asked for it; false when there is none, or it is ending already. */
    cancel() {
      const { running } = worker;
      if (!running || running.turn === null || running.abort.signal.aborted) return false;
      running.cancelled = true;
      running.abort.abort();
      return true;
    },
    /** Ends the running turn because it cannot go on. */
    abort: () => worker.running?.abort.abort(),
    /** Ends the running turn and starts nothing more; returns the turns that waited. */
    stop() {
      isStopped = true;
      worker.running?.abort.abort();
      const left = worker.remove(() => true);
      for (const { drop } of left) drop();
      return turnsOf(left);
    },
    /** Resolves when the job that runs now, if any, has finished. */
    quiet: async () => worker.running?.done,
    /** Resolves when nothing runs and nothing waits. */
    idle: worker.idle,
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

/** Runs jobs one after the other, in the order they come. */
function createWorker() {
  let waiting: Job[] = [];
  let running: RunningJob | null = null;
  let isWorking = false;
  const waiters = new Set<() => void>();
  const run = async (job: Job): Promise<void> => {
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
  };
  const work = async (): Promise<void> => {
    isWorking = true;
    for (let job = waiting.shift(); job; job = waiting.shift()) await run(job);
    isWorking = false;
    for (const wake of waiters) wake();
    waiters.clear();
  };
  return {
    get running() {
      return running;
    },
    get waiting(): readonly Job[] {
      return waiting;
    },
    /** What runs, and then what waits. */
    all: (): readonly Pick<Job, "turn">[] => (running ? [running, ...waiting] : waiting),
    add(job: Job): void {
      waiting.push(job);
      if (!isWorking) void work();
    },
    /** Takes out waiting jobs, and returns them. */
    remove(which: (job: Job) => boolean): Job[] {
      const gone = waiting.filter(which);
      waiting = waiting.filter((job) => !gone.includes(job));
      return gone;
    },
    idle: () => (isWorking ? new Promise<void>((resolve) => waiters.add(resolve)) : Promise.resolve()),
  };
}

function turnsOf(jobs: readonly Pick<Job, "turn">[]): number[] {
  return jobs.flatMap(({ turn }) => turn ?? []);
}
