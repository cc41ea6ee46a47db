/** `import`: reads a session from a bundle or a directory of event files, under its own id or a new one. */
import { resolve } from "node:path";
import { upgradeMetadata } from "@chimera/acp-schema/conversation";
import { type SessionEvent, type SessionRecord, SessionRecordSchema } from "@chimera/acp-schema/events";
import { readSummary } from "@chimera/acp-schema/summary";
import { isStoreError } from "@chimera/event-store";
import type { Invocation } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { CliError } from "../errors.js";
import { isSet } from "../flags.js";
import { createProgress, printReport } from "../output.js";
import { withStore } from "../store.js";
import { type Bundle, readBundle } from "./bundle.js";

export async function importSession(invocation: Invocation): Promise<number> {
  const { flags, operands, process } = invocation;
  const source = requireOperand(invocation, "a file or directory: import <file> [<new-id>]");
  const bundle = await readBundle(resolve(process.cwd(), source));
  const id = operands[1] ?? idOf(bundle);
  const read = createEventReader();
  const events = bundle.events.map(read).filter((event): event is ImportedEvent => event !== null);
  const turns = events.filter(({ event }) => event.type === "user_message").length;
  // The file is untrusted, whatever program and version it names.
  const given = readSummary(id, {
    ...bundle.summary,
    v: undefined,
    closed: undefined,
    bounds: undefined,
    state: undefined,
  });
  const summary = { ...given, turns, cwd: given.cwd || process.cwd() };
  const progress = createProgress(process.stderr, "events imported");
  const replace = isSet(flags, "overwrite") || isSet(flags, "import-overwrite");
  const onProgress = (done: number) => progress.update(done, events.length);
  await withStore(invocation, ({ store }) =>
    store
      .importLog(id, { summary, events, replace, onProgress })
      .catch(explainExists)
      .finally(() => progress.end()),
  );
  const skipped = bundle.events.length - events.length;
  const rest = skipped > 0 ? ` (${skipped} left out)` : "";
  const line = `imported ${events.length} events as ${id}${rest}`;
  return printReport(invocation, { session_id: id, events: events.length, skipped }, [line]);
}

// --- internal ---

function idOf({ summary }: Bundle): string {
  const id = summary["session_id"] ?? summary["run_id"];
  if (typeof id === "string" && id !== "") return id;
  throw new CliError("failed", "the session does not say its id; name one: import <file> <new-id>");
}

function explainExists(error: unknown): never {
  if (!isStoreError(error) || error.code !== "exists") throw error;
  throw new CliError("failed", `${error.message}; --overwrite replaces it, a second word gives it another id`, {
    cause: error,
  });
}

interface ImportedEvent {
  readonly event: SessionEvent;
  /** Epoch milliseconds; null when the event has no time. */
  readonly at: number | null;
}

/** Makes a reader for one log. It returns a valid event, or null for one that must not get into a log. */
function createEventReader(): (value: unknown) => ImportedEvent | null {
  let turns = 0;
  return (value) => {
    if (typeof value !== "object" || value === null) return null;
    const { type, metadata, turn, origin, ts } = value as Record<string, unknown>;
    // Here it is a session to talk to, also where it was torn down before.
    if (type === "torn_down") return null;
    if (typeof type !== "string" || typeof metadata !== "object" || metadata === null) return null;
    if (type === "user_message") turns++;
    const place = "turn" in value && type !== "user_message" ? turn : Math.max(0, turns - 1);
    if (place !== null && (typeof place !== "number" || place >= Math.max(1, turns))) return null;
    const candidate = {
      type,
      turn: place,
      ...(typeof origin === "string" && { origin }),
      metadata: "turn" in value ? metadata : upgradeMetadata(type, metadata as Record<string, unknown>, turns - 1),
    };
    const event = validated(candidate);
    const at = typeof ts === "string" ? Date.parse(ts) : Number.NaN;
    return event && { event, at: Number.isNaN(at) ? null : at };
  };
}

function validated(candidate: object): SessionEvent | null {
  const record = { seq: 1, id: "evt-00000000", ts: "2000-01-01T00:00:00.000Z", ...candidate };
  const result = SessionRecordSchema["~standard"].validate(record);
  if (result instanceof Promise || result.issues) return null;
  const { seq: _seq, id: _id, ts: _ts, ...event } = result.value as SessionRecord;
  return event as SessionEvent;
}
