/** A run is a session seen from its last prompt: the fold of its records into a run, and the events it went through. */
import { isLost, lostNotice, type SessionEvent } from "@chimera/acp-schema/events";
import type { Run, RunEvent } from "@chimera/acp-schema/http";
import type { LogEntry } from "@chimera/event-store";

/** Record types a run is folded from; the rest need not even be decoded. */
const RUN_TYPES: ReadonlySet<string> = new Set([
  "config_changed",
  "user_message",
  "turn_start",
  "text_delta",
  "agent_result",
  "cancelled",
]);

export interface RunFold {
  /** The run as of the records seen; null before the first prompt. */
  readonly run: Run | null;
  /** Takes the next entry. Returns what a client of the run is shown of it, if anything. */
  apply(entry: LogEntry<SessionEvent>): RunEvent | null;
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
    apply(entry) {
      // The run API has an event for whatever it does not name.
      if (isLost(entry)) return { type: "generic", generic: lostNotice(entry) };
      if (!RUN_TYPES.has(entry.type)) return null;
      const record = entry.event;
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

// --- internal ---

function message(text: string) {
  return { role: "agent", parts: [{ content_type: "text/plain", content: text }] };
}

function said(output: string) {
  return output === "" ? [] : [message(output)];
}
