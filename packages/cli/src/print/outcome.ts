/** The outcome of a prompt, folded from the records of its turn, and the formats in which `-p` prints it. */
import type { TurnResult } from "@chimera/acp-schema/conversation";
import type { SessionRecord } from "@chimera/acp-schema/events";
import { asShown } from "@chimera/acp-schema/parts";
import { UsageError } from "@chimera/host";

export interface Outcome extends TurnResult {
  /** Whether the turn ended because nobody allowed it to exceed the cost limit. */
  readonly overBudget: boolean;
  /** Number of calls that a rule or a person denied, or that nobody answered. */
  readonly denied: number;
}

export function createOutcomeFold() {
  let result: TurnResult = { output: "", steps: 0, cost: 0, success: false, error: null, cancelled: false };
  let overBudget = false;
  let denied = 0;
  const budgetCalls = new Set<string>();
  return {
    get outcome(): Outcome {
      return { ...result, overBudget, denied };
    },
    /** Returns whether this was the turn's last record. */
    apply({ type, metadata }: SessionRecord) {
      if (type === "tool_call" && metadata.tool === BUDGET_TOOL) budgetCalls.add(metadata.call_id);
      if (type === "tool_result" && budgetCalls.has(metadata.call_id)) overBudget ||= !metadata.success;
      if (type === "tool_result" && metadata.error === DENIED) denied++;
      if (type === "agent_result") {
        const { output, steps, cost, success, error } = metadata;
        result = { output, steps, cost, success, error, cancelled: false };
      } else if (type === "cancelled") {
        result = { ...result, output: metadata.output, cancelled: true, error: "cancelled" };
      }
      return type === "agent_result" || type === "cancelled";
    },
  };
}

interface RunFacts {
  readonly model: string;
  /** Null when the run is not saved. */
  readonly runId: string | null;
}

/** How to print each record and the result of a turn. */
export interface OutputFormat {
  record(record: SessionRecord): string;
  result(outcome: Outcome, facts: RunFacts, turn: number): string;
}

const nothing = () => "";

const FORMATS: Readonly<Record<string, OutputFormat>> = {
  text: {
    record: nothing,
    result: ({ output }) => (output === "" || output.endsWith("\n") ? output : `${output}\n`),
  },
  json: {
    record: nothing,
    result: (outcome, facts) => line(resultOf(outcome, facts)),
  },
  "stream-json": {
    record: (record) => {
      const { type, turn, metadata } = asShown(record);
      return line({ type, turn, data: metadata });
    },
    result: (outcome, facts, turn) => line({ type: "result", turn, data: resultOf(outcome, facts) }),
  },
};

export function parseFormat(name: string): OutputFormat {
  const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (format) return format;
  throw new UsageError(`--output-format takes one of ${Object.keys(FORMATS).join(", ")}, not ${JSON.stringify(name)}`);
}

// --- internal ---

/** The tool name with which an agent asks whether it may exceed the cost limit. */
const BUDGET_TOOL = "continue_over_budget";

/** The error of a call that was not permitted. */
const DENIED = "permission_denied";

function resultOf({ output, steps, cost, success, error, denied }: Outcome, { model, runId }: RunFacts) {
  const rest = { ...(runId && { run_id: runId }), ...(denied > 0 && { denied }), ...(error && { error }) };
  return { output, steps, cost, success, model, ...rest };
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
