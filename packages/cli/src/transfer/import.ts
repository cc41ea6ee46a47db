/** `import`: a session from a bundle or a directory of event files, under its own id or a new one. */
import { resolve } from "node:path";
import { readSummary } from "@chimera/acp-schema/summary";
import { isStoreError } from "@chimera/event-store";
import type { Invocation } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { CliError } from "../errors.js";
import { isSet } from "../flags.js";
import { printJson, printLines } from "../output.js";
import { openStore } from "../store.js";
import { createProgress } from "../terminal/progress.js";
import { createEventReader, type ImportedEvent } from "./imported-event.js";
import { type Bundle, readBundle } from "./read-bundle.js";

export async function importSession(invocation: Invocation): Promise<number> {
  const { flags, operands, process } = invocation;
  const source = requireOperand(invocation, "a file or directory: import <file> [new-id]");
  const bundle = await readBundle(resolve(process.cwd(), source));
  const id = operands[1] ?? idOf(bundle);
  const read = createEventReader();
  const events = bundle.events.map(read).filter((event): event is ImportedEvent => event !== null);
  const turns = events.filter(({ event }) => event.type === "user_message").length;
  // Whoever wrote it, and whatever version it says: nothing of it is taken on trust.
  const given = readSummary(id, {
    ...bundle.summary,
    v: undefined,
    closed: undefined,
    bounds: undefined,
    state: undefined,
  });
  const summary = { ...given, turns, cwd: given.cwd || process.cwd() };
  const { store } = openStore(invocation);
  const progress = createProgress(process.stderr, "events imported:");
  const replace = isSet(flags, "overwrite") || isSet(flags, "import-overwrite");
  const onProgress = (done: number) => progress.update(done, events.length);
  try {
    await store.importLog(id, { summary, events, replace, onProgress }).catch(explainExists);
  } finally {
    progress.end();
    await store.close();
  }
  const skipped = bundle.events.length - events.length;
  if (isSet(flags, "json")) printJson(invocation, { session_id: id, events: events.length, skipped });
  else {
    const rest = skipped > 0 ? ` (${skipped} not understood and left out)` : "";
    printLines(invocation, [`imported ${events.length} events as ${id}${rest}`]);
  }
  return 0;
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
