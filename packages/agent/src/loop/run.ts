/** What every part of a running turn shares, and the way its events leave it. */
import type { AgentContext, Ask, Turn, Workspace } from "@chimera/acp-schema/agent";
import type { AgentEvent } from "@chimera/acp-schema/events";
import type { Policy } from "../policy-port.js";
import type { EffortChoice, Model, ModelMessage } from "../providers/model.js";
import type { CallIds } from "./draft.js";
import type { Clock } from "./patience.js";
import type { Repeats } from "./repeats.js";
import type { Compact } from "./summary.js";
import type { Plan, Toolbox } from "./toolbox.js";
import type { Spending, Window } from "./window.js";

export interface Run {
  readonly turn: Turn;
  readonly model: Model;
  /** How hard the session wants the model to think; null leaves it to the program. */
  readonly effort: EffortChoice | null;
  readonly system: string;
  readonly toolbox: Toolbox;
  readonly policy: Policy;
  readonly workspace: Workspace;
  readonly ask: Ask;
  readonly flags: AgentContext["flags"];
  /** Runs a tool so that its stray rejections end this turn. */
  readonly traced: ReturnType<Trace>["run"];
  readonly signal: AbortSignal;
  readonly emit: (event: AgentEvent) => void;
  readonly taken: () => Promise<void>;
  /** Events that nobody has taken yet. */
  readonly pending: () => number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly spill?: (name: string, text: string) => Promise<string>;
  readonly plan: Plan;
  readonly spending: Spending;
  readonly context: ModelContext;
  readonly window: Window;
  readonly compact: Compact;
  readonly ids: CallIds;
  readonly repeats: Repeats;
  readonly progress: Progress;
}

/** What a turn has done so far. */
export interface Progress {
  steps: number;
  calls: number;
  /** Replies in a row that the provider paused. */
  pauses: number;
  /** The last thing the model said; partial when it was interrupted. */
  output: string;
}

/** The messages of the next request. */
export interface ModelContext {
  messages: ModelMessage[];
  /** The turns that prompts are of, where that is known. */
  readonly numbers: ReadonlyMap<ModelMessage, number>;
  /** How many of the messages were in a request that the provider took. */
  accepted: number;
}

/** Called once per turn; `fail` ends that turn with an error. */
export type Trace = (fail: (error: Error) => void) => {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** The turn is over. */
  end(): void;
};

/**
 * What an agent says, as an async iterable that costs one promise per item and nothing while nobody listens. Producers push
 * at once and may wait until everything was taken: that is the back-pressure of the whole loop.
 */
export interface Outbox<T> {
  push(item: T): void;
  /** Resolves once the consumer took all that was pushed and came back for more, or went away. */
  taken(): Promise<void>;
  /** How many items wait to be taken. */
  readonly pending: number;
}

/**
 * `produce` starts with the first `next()`; the iteration ends when it settles, and fails if it rejects. A consumer that
 * leaves early is told of through `onLeave`, and what is pushed afterwards goes nowhere.
 */
export function createOutbox<T>(produce: (outbox: Outbox<T>) => Promise<void>, onLeave: () => void): AsyncIterable<T> {
  let items: T[] = [];
  let head = 0;
  let state: "idle" | "running" | "ended" | "left" = "idle";
  let failure: { error: unknown } | undefined;
  let waiting: { resolve(result: IteratorResult<T, undefined>): void; reject(error: unknown): void } | undefined;
  let takers: (() => void)[] = [];

  const finished: IteratorResult<T, undefined> = { value: undefined, done: true };
  const tellTaken = (): void => {
    if (takers.length === 0) return;
    const told = takers;
    takers = [];
    for (const tell of told) tell();
  };

  const outbox: Outbox<T> = {
    push(item) {
      if (state !== "running") return;
      if (waiting) {
        const { resolve } = waiting;
        waiting = undefined;
        resolve({ value: item, done: false });
      } else items.push(item);
    },
    taken() {
      if (waiting || state !== "running") return Promise.resolve();
      return new Promise((resolve) => takers.push(resolve));
    },
    get pending() {
      return items.length - head;
    },
  };

  const end = (): void => {
    if (state === "running") state = "ended";
    if (!waiting) return;
    const { resolve, reject } = waiting;
    waiting = undefined;
    if (failure) reject(failure.error);
    else resolve(finished);
  };

  const start = (): void => {
    state = "running";
    produce(outbox).then(end, (error: unknown) => {
      failure = { error };
      end();
    });
  };

  const iterator: AsyncIterator<T, undefined> = {
    next() {
      if (state === "idle") start();
      if (head < items.length) {
        const value = items[head++] as T;
        if (head === items.length) {
          items = [];
          head = 0;
        }
        return Promise.resolve({ value, done: false });
      }
      if (state !== "running") return failure ? Promise.reject(failure.error) : Promise.resolve(finished);
      const next = new Promise<IteratorResult<T, undefined>>((resolve, reject) => {
        waiting = { resolve, reject };
      });
      tellTaken();
      return next;
    },
    return() {
      const early = state === "running";
      state = "left";
      items = [];
      head = 0;
      if (early) onLeave();
      tellTaken();
      return Promise.resolve(finished);
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
