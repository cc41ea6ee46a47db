/** The changes of each turn: its files, a diff on request, and undo back to any turn. */
import type { ChangesReply } from "@chimera/acp-schema/http";
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { attempt, client } from "../server/client.js";
import { openedSession } from "../server/stream.js";
import { plural } from "../session/project.js";
import { parseUnified } from "../text/diff.js";
import { DiffView } from "./diff-view.js";
import { useFold } from "./fold.js";
import { RewindButtons, useRewind } from "./rewind.js";
import { addressOf } from "./route.js";

export function Changes({ id }: { readonly id: string }) {
  const session = useMemo(() => openedSession(id), [id]);
  const { rewind, conflicts } = useRewind(id);
  const changes = useSignal<ChangesReply["turns"] | null>(null);
  const ended = useFold(
    session,
    ({ conversation }) => conversation.turns.filter((turn) => turn.ended && !turn.filesUndone).length,
  );
  useEffect(
    () =>
      ended.subscribe(() => {
        void attempt(async () => {
          changes.value = (await client.call("GET /sessions/{id}/changes", { id })).turns;
        });
      }),
    [id],
  );
  session.changed.value;
  const undoable = session.conversation.undoable().map(({ number }) => number);
  /** Undone from the last one back. */
  const stepsTo = (turn: number) => undoable.filter((number) => number >= turn).length;
  const turns = changes.value?.filter(({ files }) => files.length > 0).toReversed();
  return (
    <main class="view">
      <p>
        <a href={addressOf({ view: "session", id })}>← Conversation</a>
      </p>
      <h1>Changes</h1>
      <p class="answers">
        <RewindButtons session={session} />
      </p>
      {conflicts}
      {turns?.length === 0 && <p class="empty">No turn has changed a file, or all of it is undone.</p>}
      {turns?.map(({ turn, files, changed }) => (
        <section class="changed" key={turn}>
          <h2>
            Turn {turn + 1}: {plural(files.length, "file")} <time>{new Date(changed).toLocaleString()}</time>
          </h2>
          <p class="about">{session.conversation.turns[turn]?.prompt.text.slice(0, 200)}</p>
          {files.map(({ path, change }) => (
            <FileChange id={id} turn={turn} path={path} change={change} key={path} />
          ))}
          {stepsTo(turn) > 0 && (
            <button type="button" disabled={session.isBusy} onClick={() => void rewind("undo", stepsTo(turn))}>
              {stepsTo(turn) === 1 ? "Undo this turn" : `Undo this turn and ${plural(stepsTo(turn) - 1, "later one")}`}
            </button>
          )}
        </section>
      ))}
    </main>
  );
}

// --- internal ---

const VERBS = { add: "added", update: "changed", delete: "deleted" } as const;

interface FileProps {
  readonly id: string;
  readonly turn: number;
  readonly path: string;
  readonly change: keyof typeof VERBS;
}

function FileChange({ id, turn, path, change }: FileProps) {
  const diff = useSignal<string | null>(null);
  const read = async () => {
    if (diff.value !== null) return;
    const query = { turn: String(turn), diff: "true" } as const;
    const reply = await attempt(() => client.call("GET /sessions/{id}/changes", { id, query }));
    diff.value = reply?.turns[0]?.files.find((file) => file.path === path)?.diff ?? null;
  };
  return (
    <details class="card" onToggle={() => void read()}>
      <summary>
        <span class="path">{path}</span> <span class="state">{VERBS[change]}</span>
      </summary>
      {diff.value !== null && <DiffView path={path} lines={parseUnified(diff.value)} />}
    </details>
  );
}
