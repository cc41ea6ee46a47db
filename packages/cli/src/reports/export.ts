/** `export`: writes a session as a file to import, as a document, or as one file per event. `share`: passes a transcript on. */
import { createWriteStream } from "node:fs";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describeLost, isLost } from "@chimera/acp-schema/events";
import { writeEventFiles } from "@chimera/event-store";
import { envName, type Invocation, UsageError } from "@chimera/host";
import { openTranscript, parseFormat, parseSink, renderTranscript, share } from "@chimera/run-reports";
import { requireOperand } from "../actions.js";
import { choiceFlag, isSet, textFlag } from "../flags.js";
import { createProgress, printJson, printLines, printReport } from "../output.js";
import { complain } from "../reported.js";
import { meantId, requireSummary, type SessionStore, withStore } from "../store.js";
import { renderBundle } from "./bundle.js";

const FORMATS = ["json", "md", "markdown", "html"] as const;
type Format = (typeof FORMATS)[number];

export async function exportSession(invocation: Invocation): Promise<number> {
  const { flags, operands } = invocation;
  const typed = requireOperand(invocation, "a session: export <id>");
  const layout = choiceFlag("layout", textFlag(flags, "layout"), ["bundle", "files"]);
  const format = choiceFlag("format", textFlag(flags, "format", "export") ?? operands[1], FORMATS);
  const output = textFlag(flags, "output", "export");
  return withStore(invocation, ({ store }) => exportFrom(invocation, store, { typed, layout, format, output }));
}

const DEFAULT_URL = "http://localhost:5174/api/shares";

export async function shareSession(invocation: Invocation): Promise<number> {
  const { flags, profile, process } = invocation;
  const typed = requireOperand(invocation, "a session: share <id>");
  const sink = parseSink(textFlag(flags, "sink"));
  const format = parseFormat(textFlag(flags, "format"));
  const shared = await withStore(invocation, async ({ store, paths }) =>
    share(await openTranscript(store, await meantId(store, typed)), {
      sink,
      format,
      root: paths.shares,
      // The operator names the address, so any host is allowed.
      url: textFlag(flags, "url") ?? process.env[envName(profile, "SHARE_URL")] ?? DEFAULT_URL,
      trusted: true,
    }),
  );
  if (isSet(flags, "json")) printJson(invocation, shared);
  else if (shared.sink === "stdout") process.stdout.write(shared.body);
  else printLines(invocation, [shared.sink === "file" ? shared.path : `${shared.status} ${shared.reply}`.trim()]);
  return 0;
}

// --- internal ---

interface Exporting {
  readonly typed: string;
  readonly layout: "bundle" | "files";
  readonly format: Format;
  readonly output: string | undefined;
}

async function exportFrom(
  invocation: Invocation,
  store: SessionStore,
  { typed, layout, format, output }: Exporting,
): Promise<number> {
  const { flags, process } = invocation;
  const id = await meantId(store, typed);
  await requireSummary(store, id);
  const total = await store.lastSeq(id);
  // Output on the terminal shows its own progress.
  const isSeen = output === undefined && layout === "bundle" && process.stdout.isTTY === true;
  const progress = isSeen ? null : createProgress(process.stderr, "events exported");
  const onRead = (seq: number) => progress?.update(seq, total);
  // A document shows where records are lost. A file for import cannot, so stderr reports them.
  const whole = watched(store, onRead, (lost) => complain(invocation, lost));
  try {
    if (layout === "files") {
      const directory = resolve(process.cwd(), output ?? id);
      const events = await writeEventFiles(whole, id, directory);
      progress?.end();
      return printReport(invocation, { session_id: id, path: directory, events }, [`${events} events in ${directory}`]);
    }
    const text = Readable.from(render(format === "json" ? whole : watched(store, onRead), id, format));
    if (output === undefined) {
      if (isSet(flags, "json") && format !== "json") throw new UsageError("--json needs --output with this format");
      await pipeline(text, process.stdout, { end: false });
      return 0;
    }
    const path = resolve(process.cwd(), output);
    await pipeline(text, createWriteStream(path, { mode: 0o600 }));
    progress?.end();
    return printReport(invocation, { session_id: id, path }, [path]);
  } finally {
    progress?.end();
  }
}

/** The store with a callback for the reader's progress. With `onLost`, lost entries go only to that callback. */
function watched(store: SessionStore, onRead: (seq: number) => void, onLost?: (text: string) => void): SessionStore {
  return {
    ...store,
    async *read(id, range) {
      for await (const entry of store.read(id, range)) {
        onRead(entry.seq);
        if (onLost && isLost(entry)) onLost(describeLost(entry));
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
