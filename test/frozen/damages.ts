// Logs that lost something on the disk, and logs that another program wrote: a file per event.
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startServer } from "../server.js";
import { upstreamLog } from "../upstream-log.js";
import { type Made, put, workspace } from "./made.js";
import { end, prompt, surroundings } from "./over-http.js";
import { HOME } from "./place.js";

export async function makeDamages(made: Made): Promise<void> {
  await threeSegments(made);
  for (const [name, damage] of Object.entries(DAMAGES)) damage(segmentsOf(made.get(name)!));
  await otherProgram(made);
}

// --- internal ---

const DAMAGES: Record<string, (segments: string[]) => void> = {
  /** The machine went down in the middle of the last write. */
  "torn-tail": (segments) => {
    const last = segments.at(-1)!;
    truncateSync(last, readFileSync(last).length - 40);
  },
  /** Single bits of two records, not beside each other, in the first segment. */
  "bad-records": ([first]) => {
    const bytes = readFileSync(first!);
    for (const seq of [4, 7]) bytes[bytes.indexOf(`{"seq":${seq},`) + 40]! ^= 4;
    writeFileSync(first!, bytes);
  },
  /** A whole file went, from the middle. */
  "lost-segment": ([, second]) => rmSync(second!),
};

/** A turn in each of three processes, so that every log has three segments. */
async function threeSegments(made: Made): Promise<void> {
  for (const text of ["list files", "read README.txt", "search for This"]) {
    const server = await startServer([], {}, surroundings());
    for (const name of Object.keys(DAMAGES)) {
      const id = made.get(name);
      if (id) await prompt(server, id, text);
      else made.set(name, (await server.run(text, { cwd: workspace(name) })).id);
    }
    await end(server);
  }
}

function segmentsOf(id: string): string[] {
  const directory = join(HOME, "eventlog", id);
  return readdirSync(directory)
    .filter((name) => name.endsWith(".ndjson"))
    .sort()
    .map((name) => join(directory, name));
}

/** Two logs of upstream's layout; the second is gone on with. */
async function otherProgram(made: Made): Promise<void> {
  for (const [name, id] of [
    ["upstream", "otter-20260425T120300-aaaa1111"],
    ["upstream-continued", "otter-20260425T130300-bbbb2222"],
  ] as const) {
    made.set(name, id);
    for (const [file, body] of Object.entries(upstreamLog(id, workspace(name))))
      put(join(HOME, "eventlog", id, file), JSON.stringify(body));
  }
  const server = await startServer([], {}, surroundings());
  await prompt(server, made.get("upstream-continued")!, "list files");
  await end(server);
}
