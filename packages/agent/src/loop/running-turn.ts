/** The state that all parts of a running turn share. */
import type { AgentContext, Turn } from "@chimera/acp-schema/agent";
import type { AgentEvent } from "@chimera/acp-schema/events";
import type { EffortChoice, Model } from "../providers/model.js";
import type { Jobs, Task, ToolContext, ToolOutcome } from "../tool.js";
import type { CallIds } from "./draft.js";
import type { Clock } from "./patience.js";
import type { Repeats } from "./repeats.js";
import type { Plan, Toolbox } from "./toolbox.js";
import type { ModelContext, Spending, Window } from "./window.js";

export interface RunningTurn extends Pick<AgentContext, "workspace" | "ask" | "flags" | "signal" | "question"> {
  readonly turn: Turn;
  readonly model: Model;
  /** How hard the model should think according to the session; null lets the program decide. */
  readonly effort: EffortChoice | null;
  readonly system: string;
  readonly toolbox: Toolbox;
  /** Runs a tool so that its unhandled rejections end this turn. */
  readonly traced: ReturnType<Trace>["run"];
  readonly emit: (event: AgentEvent) => void;
  readonly taken: () => Promise<void>;
  /** How many events the session has not taken yet. */
  readonly pending: () => number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly spill: ToolContext["spill"];
  readonly jobs: Jobs | undefined;
  readonly delegate: Delegate | undefined;
  readonly annotate: ((outcome: ToolOutcome, context: ToolContext) => Promise<ToolOutcome>) | undefined;
  readonly plan: Plan;
  readonly spending: Spending;
  readonly context: ModelContext;
  readonly window: Window;
  readonly ids: CallIds;
  /** For a task: what it shares with its turn. */
  readonly shared: Shared | undefined;
  /** Made with the first step. */
  limits?: Limits;
  /** Made with the first call. */
  repeats?: Repeats;
  readonly progress: Progress;
}

export interface Limits {
  /** Called before each step. Returns the limit that forbids the step; or null, which counts the step. */
  reached(): Promise<Reached | null>;
}

export interface Reached {
  readonly reason: "max_tokens" | "max_turn_requests";
  readonly error: string;
}

/** The budget that a task shares with its turn. */
export interface Shared {
  readonly spending: Spending;
  readonly limits: Limits;
}

/** Lets another agent work on a task within this turn. */
export type Delegate = (task: Task & Shared & Pick<RunningTurn, "emit" | "signal">) => Promise<ToolOutcome>;

/** What a turn has done so far. */
export interface Progress {
  steps: number;
  calls: number;
  /** Replies in a row that the provider paused. */
  pauses: number;
  /** The model's last text; incomplete when it was interrupted. */
  output: string;
}

/** Called once per turn; `fail` ends that turn with an error. */
export type Trace = (fail: (error: Error) => void) => {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Called when the turn is over. */
  end(): void;
};
