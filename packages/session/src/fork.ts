/** Sessions with the log of another one up to the end of a turn. Loaded with the first of them: no start needs it. */
import { foldConversation } from "@chimera/acp-schema/conversation";
import { type AgentEvent, endsTurn, isLost, type Lost, type SessionRecord } from "@chimera/acp-schema/events";
import { SessionError } from "./errors.js";
import type { House } from "./house.js";
import { bodyOf } from "./journal.js";
import { make, newName } from "./new-session.js";
import type { OwnedSession } from "./session.js";
import type { CreateOptions, ForkOptions } from "./sessions.js";
import { changesBetween, madeWith, settingsOf } from "./settings.js";
import { readStored } from "./stored.js";

/** Runs in the parent's lane. */
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
  // Made with the settings of its parent, so that closing the child resets it to no more than closing the parent would.
  const made = madeWith(house.start(admitted.cwd), { ...bounds, maxSteps, maxCostUsd, allowedTools });
  // What was changed in the parent after the turn holds in the child, too: a fork must not widen anything, whenever it is cut off.
  const events: (AgentEvent & { readonly origin?: string })[] = [
    { type: "forked", metadata: { from: id, at } },
    ...cut.later,
    ...changesBetween(settingsOf(made, conversation.settings), settings),
    // Being allowed to read the parent does not allow reading the child.
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
    // Nobody learns its id, so it goes again; a disk that failed may not take this either.
    await house.sessions?.delete(child.id).catch((left) => house.deps.onError?.(left, child.id));
    throw error;
  }
  return child;
}

// --- internal ---

/** The parent as it is now, and what its log says up to the end of the turn. The log is read once. */
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

/** Settings are not among them: the child gets all of its parent's. */
const LATER: ReadonlySet<string> = new Set(["undo", "redo", "cleared", "title_changed"]);

/** Folds a log up to the end of a turn: of the one that is named, or else of the last. */
function createCut(turn: number | undefined) {
  const conversation = foldConversation();
  /** What came since the last end: it counts when another end follows. */
  let since: (SessionRecord | Lost)[] = [];
  let end = 0;
  let isDone = false;
  return {
    conversation,
    /** The number of the record that ends the turn; 0 when there is none. */
    get at() {
      return turn === undefined || isDone ? end : 0;
    },
    /** What was done to the whole conversation since that end. It holds in the child, unless the child ends at a turn of the past. */
    get later() {
      const isLater = (entry: SessionRecord | Lost): entry is SessionRecord =>
        !isLost(entry) && entry.turn === null && LATER.has(entry.type);
      return turn === undefined ? since.filter(isLater) : [];
    },
    /** Nothing that follows counts. */
    get isDone() {
      return isDone;
    },
    take(entry: SessionRecord | Lost): void {
      if (isDone) return;
      since.push(entry);
      if (isLost(entry) || !endsTurn(entry.type)) return;
      for (const one of since) conversation.apply(one);
      since = [];
      end = entry.seq;
      isDone = entry.turn === turn;
    },
  };
}
