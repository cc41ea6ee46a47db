/** What `-p` writes: the answer as text, as one JSON object, or every record of the turn as a line of JSON. */
import type { SessionRecord } from "@chimera/acp-schema/events";
import { asShown } from "@chimera/acp-schema/parts";
import { UsageError } from "@chimera/host";
import type { Outcome } from "./outcome.js";

export interface RunFacts {
  readonly model: string;
  /** Null when the run is not kept. */
  readonly runId: string | null;
}

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

function resultOf({ output, steps, cost, success, error }: Outcome, { model, runId }: RunFacts) {
  return { output, steps, cost, success, model, ...(runId && { run_id: runId }), ...(error && { error }) };
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
