/** What every part of a running turn shares. */
import type { AgentEvent } from "@chimera/acp-schema/events";
import type { Policy } from "../policy-port.js";
import type { AgentContext, Ask, Turn, Workspace } from "../port.js";
import type { Model, ModelMessage } from "../providers/model.js";
import type { Clock } from "./clock.js";
import type { Plan } from "./plan.js";
import type { Toolbox } from "./toolbox.js";
import type { Spending } from "./usage.js";

export interface Run {
  readonly turn: Turn;
  readonly model: Model;
  readonly system: string;
  readonly toolbox: Toolbox;
  readonly policy: Policy;
  readonly workspace: Workspace;
  readonly ask: Ask;
  readonly flags: NonNullable<AgentContext["flags"]>;
  readonly own: NonNullable<AgentContext["own"]>;
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
  /** An id for a call that is new to the conversation, like the wanted one if it can be. */
  readonly newId: (wanted: string) => string;
}

/** The messages of the next request. */
export interface ModelContext {
  messages: ModelMessage[];
  /** Where this turn's own messages begin. */
  turnStart: number;
  /** Once a turn: what is left after that is this turn's own. */
  summarised: boolean;
}
