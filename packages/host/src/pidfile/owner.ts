/** The process that owns a pidfile: only one that is proven to have written it. */
import { claimHolder, findHolder, identify, type ProcessIdentity } from "@chimera/event-store/claim";
import { claimPath, type PidfilePlace, type PidRecord } from "./record.js";

/** "elsewhere": it runs on another machine or in another container that shares the directory. */
export type Owner = ProcessIdentity | "elsewhere" | null;

/** The wall clock is good to about this. */
const CLOCK_SLACK_S = 2;

export function ownerOf(place: PidfilePlace, record: PidRecord): Owner {
  const holder = claimHolder(claimPath(place));
  if (holder === null) return ifOlder(identify(record.pid), record);
  if (holder.pid !== record.pid) return null;
  const found = findHolder(holder);
  return holder.start === null && found !== "elsewhere" ? ifOlder(found, record) : found;
}

/** Who has the claim, whether a record is written yet or not. */
export function claimantOf(place: PidfilePlace): Owner {
  const holder = claimHolder(claimPath(place));
  return holder === null ? null : findHolder(holder);
}

// --- internal ---

/** Where no claim tells the start time, the process must be older than the record, or its number was given out again. */
function ifOlder(found: ProcessIdentity | null, record: PidRecord): Owner {
  // Without a claim nothing tells init from a server that is the first process of its container.
  if (found === null || found.startedAt === null || found.pid === 1) return null;
  return found.startedAt <= record.started_at + CLOCK_SLACK_S ? found : null;
}
