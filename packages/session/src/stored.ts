/** Reads stored sessions, also while another process holds them. */
import { modeOf } from "@chimera/acp-schema/conversation";
import { isLost, type Lost, type SessionRecord } from "@chimera/acp-schema/events";
import { readSummary, type Summary } from "@chimera/acp-schema/summary";
import { isStoreError, sessionTime } from "@chimera/event-store";
import { namedError, notFound, SessionError } from "./errors.js";
import type { House } from "./house.js";
import { foldLog } from "./logs.js";
import type { SessionBirth } from "./session-parts.js";
import type { SessionReading } from "./sessions.js";
import { madeWith, narrower, type Settings, settingsOf, stricterBounds } from "./settings.js";

type StoredDeps = Pick<House, "deps" | "store" | "start">;

/** The summary of a stored session. Throws if there is none, if it was torn down, or if it may not be used here. */
export async function summaryOf(house: StoredDeps, id: string): Promise<Summary> {
  const { store, deps } = house;
  const naming = refusal(house, id);
  const stored = await store.readSummary(id).catch(naming);
  const isThere = stored !== null || (await store.has(id).catch(() => false));
  if (!isThere || stored?.closed) throw notFound(id);
  const summary = readSummary(id, stored ?? {});
  if (summary.cwd === "") {
    // If the log is damaged, opening it throws the better error.
    await store.open(id).then((one) => one.close(), naming);
    throw new SessionError("invalid_setting", `the summary of session ${id} has no directory`);
  }
  deps.requirePlace?.([summary.cwd, ...ownDirectories(deps, summary.directories)]);
  return summary;
}

/** The directories of a session without those that every session has. */
export function ownDirectories({ directories: all = [] }: StoredDeps["deps"], of: readonly string[] = []): string[] {
  return of.filter((one) => !all.includes(one));
}

/** Translates the error of opening or deleting a session. If another process has it, the message says how to join. */
export function refusal({ deps }: StoredDeps, id: string): (error: unknown) => Promise<never> {
  return async (error) => {
    const holder = isStoreError(error) ? error.holder : undefined;
    const hint = holder && (await deps.howToJoin?.(holder).catch(() => null));
    throw namedError(error, id, hint ?? undefined);
  };
}

/** The birth of a stored session from its summary. Its settings are those it was made with over today's start settings. */
export function rememberedBirth(summary: Summary, start: Settings): Omit<SessionBirth, "writer" | "conversation"> {
  const { bounds = {} } = summary;
  return {
    made: madeWith(start, { ...bounds, model: summary.model }),
    bounds,
    program: summary.agent,
    cwd: summary.cwd,
    directories: summary.directories ?? [],
    createdAt: Date.parse(summary.started_at ?? "") || sessionTime(summary.session_id) || 0,
    persistent: true,
    ...(summary.owner !== undefined && { owner: summary.owner }),
    ...(summary.parent_id !== undefined && { parentId: summary.parent_id }),
    ...(summary.key !== undefined &&
      summary.request !== undefined && { request: { key: summary.key, digest: summary.request } }),
  };
}

/** Reads a session from its log, without holding it. `take` gets each entry of the log. */
export async function readStored(
  house: StoredDeps,
  id: string,
  take: (entry: SessionRecord | Lost) => void = () => {},
): Promise<SessionReading> {
  const summary = await summaryOf(house, id);
  let lastSeq = 0;
  const conversation = await foldLog(house.store, id, {
    take(entry) {
      lastSeq = isLost(entry) ? entry.last : entry.seq;
      take(entry);
    },
  }).catch(refusal(house, id));
  if (conversation.facts.isTornDown) throw notFound(id);
  const start = house.start(summary.cwd);
  const { made, cwd, directories, createdAt, bounds = {}, owner = null } = rememberedBirth(summary, start);
  const own = settingsOf({ ...made, ...stricterBounds(made, start) }, conversation.settings);
  const settings = narrower(own, start, house.deps.orders ?? {});
  const { facts, openPermissions, openQuestions } = conversation;
  const { title, isShared } = facts;
  const snapshots = house.deps.snapshots?.reading(id, { cwd, directories }) ?? null;
  const birth = { id, cwd, directories, createdAt, owner, persistent: true, bounds };
  const shown = { title, isShared, openPermissions, openQuestions, mode: modeOf(settings), snapshots };
  return { ...birth, ...shown, conversation, settings, lastSeq };
}
