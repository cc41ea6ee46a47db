/** Forks sessions. Loaded with the first fork, because a start does not need it. */
import { foldConversation } from "@chimera/acp-schema/conversation";
import { type AgentEvent, createTurnEnds, isLost, type Lost, type SessionRecord } from "@chimera/acp-schema/events";
import { SessionError } from "./errors.js";
import type { House } from "./house.js";
import { make, newName } from "./new-session.js";
import { bodyOf } from "./recorder.js";
import type { OwnedSession } from "./session.js";
import type { CreateOptions, ForkOptions } from "./sessions.js";
import { changesBetween, madeWith, settingsOf } from "./settings.js";
import { readStored } from "./stored.js";

/** Makes a session whose log begins with the parent's log up to the end of a turn. Runs in the parent's lane. */
export async function fork(house: House, id: string, { turn, owner, request }: ForkOptions): Promise<OwnedSession> {
  const { parent, bounds = {}, cut } = await readParent(house, id, turn);
  const { conversation, at } = cut;
  if (at === 0) throw new SessionError("nothing_to_fork", `session ${id} has no finished turn ${turn ?? ""}`.trimEnd());
  const wanted: CreateOptions = {
    cwd: parent.cwd,
    directories: parent.directories,
    persist: parent.persistent,
    settings: parent.settings,
    ...(owner !== undefined && { owner }),
    request,
  };
  const admitted = (await house.deps.admit?.(wanted)) ?? wanted;
  const settings = { ...parent.settings, ...admitted.settings };
  const { maxSteps, maxCostUsd, allowedTools } = settings;
  // The child is made with the parent's bounds, so that closing it does not reset it to wider settings than closing the parent would.
  const made = madeWith(house.start(admitted.cwd), { ...bounds, maxSteps, maxCostUsd, allowedTools });
  // Later changes of the parent's settings hold in the child too: a fork at an earlier turn must not widen anything.
  const events: (AgentEvent & { readonly origin?: string })[] = [
    { type: "forked", metadata: { from: id, at } },
    ...cut.later,
    ...changesBetween(settingsOf(made, conversation.settings), settings),
    // People who may read the parent may not read the child.
    ...(conversation.facts.isShared ? [{ type: "sharing_changed", metadata: { shared: false } } as const] : []),
  ];
  const added = events.map((event) => bodyOf(event, { turn: null, origin: event.origin }));
  for (const event of added) conversation.apply(event);
  const name = newName(house);
  const asked = { ...admitted, settings: made, parentId: id };
  const child = await make(house, name, asked, conversation, (store, summary) =>
    store.copy(id, name.id, { upTo: at, summary, added }),
  );
  try {
    await child.durable(child.lastSeq);
  } catch (error) {
    // The caller never learns the child's id, so delete it. On a failed disk that may fail too.
    await house.sessions?.delete(child.id).catch((left) => house.deps.onError?.(left, child.id));
    throw error;
  }
  return child;
}

// --- internal ---

/** Reads the parent's current state, and its log up to the end of the turn, in one pass. */
async function readParent(house: House, id: string, turn: number | undefined) {
  const cut = createCut(turn);
  const here = house.loaded.find(id);
  if (!here) {
    const parent = await readStored(house, id, cut.take);
    return { parent, bounds: parent.bounds, cut };
  }
  here.touch();
  const store = here.persistent ? house.store : house.ephemeral;
  for await (const entry of store.read(id)) {
    cut.take(isLost(entry) ? entry : entry.event);
    if (cut.isDone) break;
  }
  return { parent: here, bounds: here.summary().bounds, cut };
}

/** Records after the last turn that a fork repeats. Settings are not among them, because the child gets all of its parent's settings anyway. */
const LATER: ReadonlySet<string> = new Set(["undo", "redo", "cleared", "title_changed"]);

/** Folds a log up to the end of this turn, or of the last turn, and of a turn that runs then. */
function createCut(turn: number | undefined) {
  const conversation = foldConversation();
  /** The records since the last end of a turn. They join the fork only if another end follows. */
  let since: (SessionRecord | Lost)[] = [];
  let end = 0;
  const whatEnds = createTurnEnds();
  let isReached = false;
  let isDone = false;
  return {
    conversation,
    /** The number of the record that ends the turn. 0 if there is none. */
    get at() {
      return turn === undefined || isDone ? end : 0;
    },
    /** Changes of the whole conversation after the last turn. The child gets them too, unless it ends at an earlier turn. */
    get later() {
      const isLater = (entry: SessionRecord | Lost): entry is SessionRecord =>
        !isLost(entry) && entry.turn === null && LATER.has(entry.type);
      return turn === undefined ? since.filter(isLater) : [];
    },
    /** The end of the turn was found: the rest of the log is not needed. */
    get isDone() {
      return isDone;
    },
    take(entry: SessionRecord | Lost): void {
      if (isDone) return;
      since.push(entry);
      const ends = isLost(entry) ? null : whatEnds(entry);
      if (isLost(entry) || ends === null) return;
      isReached ||= entry.turn === turn;
      // A prompt that waits may be cancelled in the middle of a turn. The fork ends with that turn.
      if (ends === "waiting") return;
      for (const one of since) conversation.apply(one);
      since = [];
      end = entry.seq;
      isDone = isReached;
    },
  };
}
