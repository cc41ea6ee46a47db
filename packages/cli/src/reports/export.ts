/** `export`: a session as a file that can be imported, as a document, or as a directory of one file per event. */
import { createWriteStream } from "node:fs";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describeLost, isLost } from "@chimera/acp-schema/events";
import { writeEventFiles } from "@chimera/event-store";
import { type Invocation, UsageError } from "@chimera/host";
import { openTranscript, renderTranscript } from "@chimera/run-reports";
import { requireOperand } from "../actions.js";
import { choiceFlag, isSet, textFlag } from "../flags.js";
import { printReport } from "../output.js";
import { complain } from "../reported.js";
import { meantId, openStore, requireSummary, type SessionStore } from "../store.js";
import { renderBundle } from "./bundle.js";

const FORMATS = ["json", "md", "markdown", "html"] as const;
type Format = (typeof FORMATS)[number];

export async function exportSession(invocation: Invocation): Promise<number> {
  const { flags, operands, process } = invocation;
  const typed = requireOperand(invocation, "a session: export <id>");
  const layout = choiceFlag("layout", textFlag(flags, "layout"), ["bundle", "files"]);
  const format = choiceFlag("format", textFlag(flags, "format", "export") ?? operands[1], FORMATS);
  const output = textFlag(flags, "output", "export");
  const { store } = await openStore(invocation);
  const id = await meantId(store, typed);
  const readable = complainingOfLost(invocation, store);
  await requireSummary(store, id);
  if (layout === "files") {
    const directory = resolve(process.cwd(), output ?? id);
    const events = await writeEventFiles(readable, id, directory);
    return printReport(invocation, { session_id: id, path: directory, events }, [`${events} events in ${directory}`]);
  }
  // A document says where records are missing; what is made to be imported cannot.
  const text = Readable.from(render(format === "json" ? readable : store, id, format));
  if (output === undefined) {
    if (isSet(flags, "json") && format !== "json") throw new UsageError("--json needs --output with this format");
    await pipeline(text, process.stdout, { end: false });
    return 0;
  }
  const path = resolve(process.cwd(), output);
  await pipeline(text, createWriteStream(path, { mode: 0o600 }));
  return printReport(invocation, { session_id: id, path }, [path]);
}

// --- internal ---

/** The store without its lost runs: they are named on standard error. */
function complainingOfLost(invocation: Invocation, store: SessionStore): SessionStore {
  return {
    ...store,
    async *read(id, range) {
      for await (const entry of store.read(id, range)) {
        if (isLost(entry)) complain(invocation, describeLost(entry));
        else yield entry;
      }
    },
  };
}

async function* render(store: SessionStore, id: string, format: Format): AsyncGenerator<string> {
  if (format === "json") yield* renderBundle(await requireSummary(store, id), store.read(id), new Date().toISOString());
  else {
    const kind = format === "html" ? "html" : "md";
    yield* renderTranscript(await openTranscript(store, id), { format: kind });
  }
}
