/** One session, live: its conversation, what it asks, and where to write. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { generation, openedSession, unknown } from "../server/stream.js";
import type { ShownTurn } from "../session/item.js";
import type { OpenedSession } from "../session/opened.js";
import { AskedView, idOf } from "./asked.js";
import { Composer } from "./composer.js";
import { useFold } from "./fold.js";
import { ItemView } from "./item-view.js";
import { SessionHead } from "./session-head.js";

/** Items of a long session that are on the page at first, and how many more come with each step back. */
const SHOWN_ITEMS = 200;

export function SessionView({ id }: { readonly id: string }) {
  if (unknown.value.has(id)) {
    return (
      <main class="view">
        <h1>There is no session {id}</h1>
        <p>It may have been deleted.</p>
      </main>
    );
  }
  return <LiveSession id={id} key={`${id} ${generation.value}`} />;
}

// --- internal ---

function LiveSession({ id }: { readonly id: string }) {
  const session = useMemo(() => openedSession(id), [id]);
  const asked = useFold(session, ({ isBusy, conversation: { openPermissions, openQuestions } }) =>
    isBusy ? [...openPermissions.values(), ...openQuestions.values()] : [],
  );
  const isBusy = useFold(session, (opened) => opened.isBusy);
  const [first] = asked.value;
  return (
    <main class="session">
      <SessionHead session={session} />
      <Conversation session={session} isBusy={isBusy.value} />
      {first && <AskedView sessionId={id} asked={first} keys key={idOf(first)} />}
      {asked.value.length > 1 && <p class="more">and {asked.value.length - 1} more after this one</p>}
      <Composer sessionId={id} isBusy={isBusy.value} />
    </main>
  );
}

function Conversation({ session, isBusy }: { readonly session: OpenedSession; readonly isBusy: boolean }) {
  const most = useSignal(SHOWN_ITEMS);
  const place = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const lastTop = useRef(0);
  useEffect(() => {
    const node = place.current!;
    const stick = () => {
      if (follows.current) node.scrollTop = node.scrollHeight;
    };
    const end = session.changed.subscribe(() => requestAnimationFrame(stick));
    // Items get their height when they are seen, which moves what is below them.
    const resized = new ResizeObserver(stick);
    resized.observe(node);
    resized.observe(node.firstElementChild!);
    return () => {
      end();
      resized.disconnect();
    };
  }, [session]);
  session.structure.value;
  const { shown, hidden } = lastItems(session.turns, most.value);
  return (
    <div
      class="conversation"
      ref={place}
      onScroll={() => {
        const { scrollHeight, scrollTop, clientHeight } = place.current!;
        // The end may have moved on since this scroll began; only a person goes up, and away from the end.
        if (scrollHeight - scrollTop - clientHeight < 60) follows.current = true;
        else if (scrollTop < lastTop.current) follows.current = false;
        lastTop.current = scrollTop;
      }}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls can be reached by keyboard. */}
      <div role="log" aria-label="Conversation" aria-busy={isBusy} tabIndex={0}>
        {hidden > 0 && (
          <button
            type="button"
            class="earlier"
            onClick={() => {
              follows.current = false;
              most.value += SHOWN_ITEMS;
            }}
          >
            Show earlier ({hidden} more)
          </button>
        )}
        {shown.map((turn) => (
          <Turn turn={turn} session={session} key={turn.number} />
        ))}
        {shown.length === 0 && <p class="empty">Nothing was said here yet.</p>}
      </div>
    </div>
  );
}

function Turn({ turn, session }: { readonly turn: ShownTurn; readonly session: OpenedSession }) {
  session.structure.value;
  const view = session.conversation.turns[turn.number];
  const state = view?.undone ? "undone" : view && !view.started && !view.ended ? "queued" : "";
  return (
    <section class={`turn ${state}`} aria-label={`Turn ${turn.number + 1}${state ? `, ${state}` : ""}`}>
      {state && <p class="badge">{state}</p>}
      {turn.items.map((item) => (
        <ItemView item={item} key={item.key} />
      ))}
    </section>
  );
}

/** The turns at the end that have about so many items; never a part of one. */
function lastItems(turns: readonly ShownTurn[], most: number): { shown: readonly ShownTurn[]; hidden: number } {
  let count = 0;
  let from = turns.length;
  while (from > 0 && count < most) count += turns[--from]!.items.length;
  const hidden = turns.slice(0, from).reduce((sum, { items }) => sum + items.length, 0);
  return { shown: turns.slice(from), hidden };
}
