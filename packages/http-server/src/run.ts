/** A run is a session seen from its last prompt: the fold of its records into a run, and the events it went through. */
import type { SessionRecord } from "@chimera/acp-schema/events";
import type { Loss, Run, RunEvent } from "@chimera/acp-schema/http";

export interface RunFold {
  /** The run as of the records seen; null before the first prompt. */
  readonly run: Run | null;
  /** Takes the next record. Returns what a client of the run is told of it, if anything. */
  apply(record: SessionRecord): RunEvent | null;
}

export function createRunFold(id: string, program: string): RunFold {
  let run: Run | null = null;
  let agent_name = program;

  const become = (
    type: Exclude<RunEvent["type"], "message_created" | "generic">,
    change: Partial<Run>,
  ): RunEvent | null => {
    if (!run) return null;
    run = { ...run, ...change };
    return { type, run };
  };
  return {
    get run() {
      return run;
    },
    apply(record) {
      switch (record.type) {
        case "config_changed":
          if (record.metadata.id === "agent") agent_name = String(record.metadata.value);
          return null;
        case "user_message":
          run = {
            run_id: id,
            agent_name,
            status: "created",
            session_id: id,
            output: [],
            error: null,
            created_at: record.ts,
            finished_at: null,
          };
          return { type: "run_created", run };
        case "turn_start":
          return become("run_in_progress", { status: "in-progress" });
        case "text_delta":
          return { type: "message_created", message: message(record.metadata.text) };
        case "agent_result": {
          // A log of another program may not say.
          const { output = "", success, error = null } = record.metadata;
          const status = success ? "completed" : "failed";
          const change = { status, output: said(output), error, finished_at: record.ts } as const;
          return become(success ? "run_completed" : "run_failed", change);
        }
        case "cancelled": {
          const { output } = record.metadata;
          return become("run_cancelled", { status: "cancelled", output: said(output), finished_at: record.ts });
        }
        default:
          return null;
      }
    },
  };
}

/** Records that cannot be read: the run API has an event for whatever it does not name. */
export function lossEvent(loss: Loss): RunEvent {
  return { type: "generic", generic: loss };
}

/** Record types a run is folded from; the rest need not even be decoded. */
export const RUN_TYPES: ReadonlySet<string> = new Set([
  "config_changed",
  "user_message",
  "turn_start",
  "text_delta",
  "agent_result",
  "cancelled",
]);

// --- internal ---

function message(text: string) {
  return { role: "agent", parts: [{ content_type: "text/plain", content: text }] };
}

function said(output: string) {
  return output === "" ? [] : [message(output)];
}
