/** The answer to one prompt, folded from the records of its turn, and how `-p` writes it. */
import type { TurnResult } from "@chimera/acp-schema/conversation";
import type { SessionRecord } from "@chimera/acp-schema/events";
import { asShown } from "@chimera/acp-schema/parts";
import { UsageError } from "@chimera/host";

export interface Outcome extends TurnResult {
  /** The cost limit was reached and nobody allowed to go on. */
  readonly overBudget: boolean;
  /** Calls that a rule, a person or the absence of anybody refused. */
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
    /** True when this was the turn's last record. */
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
  /** Null when the run is not kept. */
  readonly runId: string | null;
}

/** The answer as text, as one JSON object, or every record of the turn as a line of JSON. */
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

/** The call an agent shows when it asks whether to spend more. */
const BUDGET_TOOL = "continue_over_budget";

/** What a call that was not permitted ends with. */
const DENIED = "permission_denied";

function resultOf({ output, steps, cost, success, error, denied }: Outcome, { model, runId }: RunFacts) {
  const rest = { ...(runId && { run_id: runId }), ...(denied > 0 && { denied }), ...(error && { error }) };
  return { output, steps, cost, success, model, ...rest };
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
