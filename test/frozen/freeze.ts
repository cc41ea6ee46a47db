// Puts the home that was made into the repository, with what the program that made it shows of it and does in it.
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Crash, type Facts, programOf, readGolden, UNFINISHED, writeFacts, writeGolden } from "./frozen.js";
import { listsOf } from "./lists.js";
import type { Made } from "./made.js";
import { everythingBelow, FIXTURE, onFreshHome, PARTS, PLACE } from "./place.js";
import { type Rewind, type RewindCall, redo, rewindAll, serve, undo } from "./rewind.js";
import { framesOf, idOf, loads, type ProgramName, resumes, seqOf, streams } from "./shown.js";

const PROGRAMS = ["otter", "ferret"] as const;

export async function freeze(made: Made): Promise<void> {
  copyHome();
  writeFacts({
    sessions: Object.fromEntries(made),
    lists: {
      otter: await onFreshHome((atEnd) => listsOf("otter", atEnd)),
      ferret: await onFreshHome((atEnd) => listsOf("ferret", atEnd)),
    },
    rewinds: await freezeRewinds(made),
    crashes: await freezeCrashes(made),
  });
  for (const program of PROGRAMS) await freezeReplays(program, made);
}

// --- internal ---

/** Claims name the machine and the boot they were made on, which say nothing to others. */
function copyHome(): void {
  for (const part of [...PARTS, "golden", "facts.json"]) rmSync(join(FIXTURE, part), { recursive: true, force: true });
  for (const part of PARTS) cpSync(join(PLACE, part), join(FIXTURE, part), { recursive: true, verbatimSymlinks: true });
  for (const [path] of everythingBelow(FIXTURE)) {
    if (!/claim\.\d+$/.test(path)) continue;
    const holder = JSON.parse(readFileSync(path, "utf8"));
    const elsewhere = { boot: "00000000-0000-4000-8000-000000000000", host: "elsewhere" };
    if (!holder.released) writeFileSync(path, JSON.stringify({ ...holder, ...elsewhere }));
  }
}

/** Otter's native updates, which count the records of these types. */
const NOTIFYING = /^event: (text_delta|tool_call|tool_result|usage|permission_request|cancelled)$/gm;

/** Of a session that ends in the middle of a turn, only what was on disk: not how the program that opens it ends the turn. */
async function freezeReplays(program: ProgramName, made: Made): Promise<void> {
  const own = [...made].filter(([name, id]) => programOf(id) === program && name !== "unprompted");
  const recorded = await countRecords(program, own);
  const isOwn = (name: string, seq: number | undefined) =>
    !UNFINISHED.has(name) || (seq !== undefined && seq <= recorded.get(name)!);
  await onFreshHome(async (atEnd) => {
    const stream = await streams(program, atEnd);
    for (const [name, id] of own) {
      const frames = framesOf(await stream(id)).filter((frame) => isOwn(name, idOf(frame)));
      writeGolden(frames.join(""), name, "stream");
    }
  });
  const open = own.filter(([name]) => name !== "torn-down");
  await onFreshHome(async (atEnd) => {
    const load = await loads(program, atEnd);
    for (const [name, id] of open)
      writeGolden(joined((await load(id)).filter((line) => isOwn(name, seqOf(line)))), name, "loaded");
  });
  await onFreshHome(async (atEnd) => {
    const resume = await resumes(program, atEnd);
    for (const [name, id] of open) {
      const notifying = UNFINISHED.has(name) ? (readGolden(name, "stream").match(NOTIFYING)?.length ?? 0) : undefined;
      writeGolden(joined((await resume(id)).slice(0, notifying)), name, "resumed");
    }
  });
}

const joined = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");

/** How many records each log has before anybody opens it. */
function countRecords(program: ProgramName, sessions: [string, string][]): Promise<Map<string, number>> {
  return onFreshHome(async (atEnd) => {
    const server = await serve(program, atEnd);
    const counts = new Map<string, number>();
    for (const [name, id] of sessions) counts.set(name, (await server.ask(`GET /sessions/${id}`)).body.event_count);
    return counts;
  });
}

/** The fork works where its parent did and has no files to restore, so it comes first. */
const REWINDS: Record<string, readonly RewindCall[]> = {
  fork: [undo({ steps: 99 }), redo({ steps: 99 })],
  edits: [
    redo(),
    redo(),
    redo(),
    undo({ steps: 6 }),
    redo({ steps: 3 }),
    undo({ dry_run: true }),
    undo(),
    redo({ steps: 99 }),
  ],
  conflict: [undo(), redo({ steps: 2 }), undo({ force: true }), redo({ steps: 2, force: true })],
  slash: [undo(), undo(), undo(), redo({ steps: 2 })],
  cancelled: [undo(), undo(), redo({ steps: 2 })],
  ferret: [redo(), undo({ steps: 3 }), redo()],
};

async function freezeRewinds(made: Made): Promise<Facts["rewinds"]> {
  const frozen: Record<string, Rewind[]> = {};
  for (const program of PROGRAMS) {
    await onFreshHome(async (atEnd) => {
      const server = await serve(program, atEnd);
      for (const [name, calls] of Object.entries(REWINDS)) {
        const id = made.get(name)!;
        if (programOf(id) === program) frozen[name] = await rewindAll(server, id, calls);
      }
    });
  }
  return frozen;
}

function freezeCrashes(made: Made): Promise<Facts["crashes"]> {
  return onFreshHome(async (atEnd) => {
    const server = await serve("otter", atEnd);
    const frozen: Record<string, Crash> = {};
    for (const name of ["second-turn", "undo-prepared", "undo-halfway", "undo-unrecorded"]) {
      const [undone, redone] = await rewindAll(server, made.get(name)!, [undo(), redo()]);
      frozen[name] = { before: undone!.tree, after: redone!.tree };
    }
    return frozen;
  });
}
