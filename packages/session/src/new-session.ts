/** Sessions that were not there before: made afresh, or forked, with the log of another one up to the end of a turn. */
import { type Conversation, foldConversation } from "@chimera/acp-schema/conversation";
import { endsTurn, isLost, type Lost, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { type EventStore, type LogWriter, makeSessionId } from "@chimera/event-store";
import { SessionError } from "./errors.js";
import type { House } from "./house.js";
import { bodyOf } from "./journal.js";
import type { OwnedSession } from "./session.js";
import { createLogHold } from "./session-parts.js";
import type { CreateOptions, ForkOptions } from "./sessions.js";
import { changesBetween, madeWith, ownSettings, requireModelName, type Settings, settingsOf } from "./settings.js";
import { ownDirectories, readStored } from "./stored.js";
import { summarize } from "./summary.js";

export function create(house: House, options: CreateOptions): Promise<OwnedSession> {
  const name = newName(house);
  return house.loaded.bringIn(name.id, async () => {
    const asked = (await house.deps.admit?.(options)) ?? options;
    if (asked.settings?.model !== undefined) requireModelName(asked.settings.model);
    const settings = madeWith(house.start(asked.cwd), asked.settings ?? {});
    return make(house, name, { ...asked, settings }, foldConversation(), (store, summary) =>
      store.create(name.id, summary),
    );
  });
}

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
  const added = [
    { type: "forked", metadata: { from: id, at } } as const,
    ...changesBetween(settingsOf(made, conversation.settings), settings),
    // Being allowed to read the parent does not allow reading the child.
    ...(conversation.facts.isShared ? [{ type: "sharing_changed", metadata: { shared: false } } as const] : []),
  ].map((event) => bodyOf(event, { turn: null }));
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

type Store = EventStore<SessionEvent, Summary>;

/** The id of a session to be, and the time that is in it. */
interface Name {
  readonly id: string;
  readonly createdAt: number;
}

function newName({ deps, clock }: House): Name {
  const createdAt = clock();
  return { id: makeSessionId(deps.prefix, createdAt), createdAt };
}

/** Makes a session that was not there before. */
async function make(
  house: House,
  { id, createdAt }: Name,
  options: CreateOptions & { readonly settings: Settings; readonly parentId?: string },
  conversation: Conversation,
  open: (store: Store, summary: Summary) => Promise<LogWriter<SessionEvent>>,
): Promise<OwnedSession> {
  const { deps } = house;
  const { cwd, settings: made, parentId, persist = true } = options;
  // A session that is made like another one names the directories that it has anyway.
  const directories = ownDirectories(deps, options.directories);
  deps.requirePlace?.([cwd, ...directories]);
  const store = persist ? house.store : house.ephemeral;
  const facts = {
    program: deps.prefix,
    cwd,
    directories: [...(deps.directories ?? []), ...directories],
    createdAt,
    bounds: ownSettings(made, house.start(cwd)),
    ...(options.owner !== undefined && { owner: options.owner }),
    ...(parentId !== undefined && { parentId }),
    ...(options.request && { request: options.request }),
  };
  const { model } = settingsOf(made, conversation.settings);
  const leave = house.quota.requireSession(options.owner, id, parentId);
  const birth = { ...facts, conversation, made, persistent: persist, endedAt: null };
  const opening = open(store, summarize({ ...facts, id, model }, conversation, null));
  return opening
    .then((writer) => house.open(store, { ...birth, writer: createLogHold(writer) }))
    .finally(async () => {
      leave();
      await house.quota.measure({ id, owner: options.owner });
    });
}
