/** Remembers an engine's own session in our log, so that the session can be restored after a restart. */
import type { Json } from "@chimera/acp-schema/events";
import { describeProcess, findHolder, type Holder } from "@chimera/event-store/claim";

export interface Memory {
  readonly engine: string;
  /** The id of our session. A fork has a copy of the log and must not use the same session of the engine. */
  readonly owner: string;
  /** The engine's id of its session. The id is enough to resume the session, so no client sees it. */
  readonly session: string;
  /** The turns that the engine's session has seen, as ranges. */
  readonly turns: string;
  /** The process of the engine. */
  readonly program: Holder | null;
}

export function readMemory(state: Json | null, engine: string): Memory | null {
  if (typeof state !== "object" || state === null || Array.isArray(state)) return null;
  const { engine: by, owner, session, turns, program } = state as Readonly<Record<string, Json>>;
  if (by !== engine || typeof owner !== "string" || typeof session !== "string" || typeof turns !== "string")
    return null;
  return { engine, owner, session, turns, program: (program ?? null) as Holder | null };
}

export function writeMemory(
  memory: Pick<Memory, "engine" | "owner" | "session">,
  turns: readonly number[],
  pid: number | undefined,
): Json {
  const program = pid === undefined ? null : describeProcess(pid);
  return { ...memory, turns: rangesOf(turns), program: program as unknown as Json };
}

/** Writes numbers as ranges such as `0-3,5`, so that a session of ten thousand turns fits into one record. */
export function rangesOf(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

/** Kills a program that outlived the process that started it, because it may still write files for an ended turn. */
export function endOrphan({ program }: Memory): void {
  if (program === null) return;
  const found = findHolder(program);
  if (found === null || found === "elsewhere") return;
  try {
    process.kill(process.platform === "win32" ? found.pid : -found.pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
