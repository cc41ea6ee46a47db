/** Makes new sessions. */
import { type Conversation, foldConversation } from "@chimera/acp-schema/conversation";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { type EventStore, type LogWriter, makeSessionId } from "@chimera/event-store";
import type { House } from "./house.js";
import type { OwnedSession } from "./session.js";
import { createLogHold } from "./session-parts.js";
import type { CreateOptions } from "./sessions.js";
import { madeWith, ownSettings, requireModelName, type Settings, settingsOf } from "./settings.js";
import { ownDirectories } from "./stored.js";
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

type Store = EventStore<SessionEvent, Summary>;

/** The id of a new session, and the time that is in it. */
interface Name {
  readonly id: string;
  readonly createdAt: number;
}

export function newName({ deps, clock }: House): Name {
  const createdAt = clock();
  return { id: makeSessionId(deps.prefix, createdAt), createdAt };
}

/** Makes a session, with a log that `open` makes. */
export async function make(
  house: House,
  { id, createdAt }: Name,
  options: CreateOptions & { readonly settings: Settings; readonly parentId?: string },
  conversation: Conversation,
  open: (store: Store, summary: Summary) => Promise<LogWriter<SessionEvent>>,
): Promise<OwnedSession> {
  const { deps } = house;
  const { cwd, settings: made, parentId, persist = true } = options;
  // Leave out the directories that every session has: a copy of another session names them too.
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
  const birth = { ...facts, conversation, made, persistent: persist };
  const opening = open(store, summarize({ ...facts, id, model }, conversation));
  return opening
    .then((writer) => house.open(store, { ...birth, writer: createLogHold(writer) }))
    .finally(async () => {
      leave();
      await house.quota.measure({ id, owner: options.owner });
    });
}
