/** The work of one session, one job at a time: turns in the order of their prompts, with undo and redo between them. */
import { SessionError } from "./errors.js";

/** The turn of an accepted prompt. */
export interface QueuedTurn {
  readonly turn: number;
  /** Runs the turn from its start to its last record. */
  run(signal: AbortSignal): Promise<void>;
  /** Called after `run` failed, when the turn no longer counts as running. Never rejects. */
  recover(error: unknown): Promise<void>;
}

export type WorkQueue = ReturnType<typeof createWorkQueue>;

export function createWorkQueue() {
  const worker = createWorker();
  let isStopped = false;

  return {
    /** The turn that runs. Null between turns. */
    get current() {
      const { running } = worker;
      if (!running || running.turn === null) return null;
      const signal: AbortSignal = running.abort.signal;
      return { turn: running.turn, signal, cancelled: running.cancelled };
    },
    get waiting() {
      return turnsOf(worker.waiting);
    },
    /** True if work between turns (an undo or redo) runs or waits. */
    get isAlone() {
      return worker.all().some(({ turn }) => turn === null);
    },
    /** Turns that run or wait. */
    busy: () => new Set(turnsOf(worker.all())),
    add: (turn: QueuedTurn) => worker.add({ ...turn, drop() {} }),
    /** Queues work that must not overlap with a turn. Rejects with `session_closed` if the session closes first. */
    alone: <T>(job: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const drop = () => reject(new SessionError("session_closed", "the session was closed before its work began"));
        if (isStopped) drop();
        else worker.add({ turn: null, drop, recover: async () => {}, run: () => job().then(resolve, reject) });
      }),
    /** Removes waiting turns from the queue, and returns them. */
    forget: (which: (turn: number) => boolean) => turnsOf(worker.remove(({ turn }) => turn !== null && which(turn))),
    /** Cancels the running turn for a client. False if there is none, or if it is ending already. */
    cancel() {
      const { running } = worker;
      if (!running || running.turn === null || running.abort.signal.aborted) return false;
      running.cancelled = true;
      running.abort.abort();
      return true;
    },
    /** Ends the running turn because it cannot continue. */
    abort: () => worker.running?.abort.abort(),
    /** Ends the running turn and starts no other. Returns the turns that waited. */
    stop() {
      isStopped = true;
      worker.running?.abort.abort();
      const left = worker.remove(() => true);
      for (const { drop } of left) drop();
      return turnsOf(left);
    },
    /** Resolves when the current job has finished. */
    quiet: async () => worker.running?.done,
    /** Resolves when nothing runs and nothing waits. */
    idle: worker.idle,
  };
}

// --- internal ---

interface Job extends Omit<QueuedTurn, "turn"> {
  /** Null for work between turns. */
  readonly turn: number | null;
  /** Called if the queue is stopped before the job begins. */
  drop(): void;
}

interface RunningJob extends Pick<Job, "turn"> {
  readonly abort: AbortController;
  done: Promise<void>;
  cancelled: boolean;
}

/** Runs jobs one after the other, in the order in which they were added. */
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
    /** The running job, then the waiting ones. */
    all: (): readonly Pick<Job, "turn">[] => (running ? [running, ...waiting] : waiting),
    add(job: Job): void {
      waiting.push(job);
      if (!isWorking) void work();
    },
    /** Removes waiting jobs, and returns them. */
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
