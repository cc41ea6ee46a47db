/** Undo and redo: shows their effect on files, and asks before it overwrites files that were changed since. */
import { useSignal } from "@preact/signals";
import { attempt, client } from "../server/client.js";
import type { OpenedSession } from "../session/opened.js";

export function RewindButtons({ session }: { readonly session: OpenedSession }) {
  session.changed.value;
  const { conversation, id, isBusy } = session;
  const { rewind, conflicts } = useRewind(id);
  return (
    <>
      <button type="button" disabled={isBusy || conversation.undoable().length === 0} onClick={() => rewind("undo", 1)}>
        Undo
      </button>
      <button type="button" disabled={isBusy || conversation.redoable().length === 0} onClick={() => rewind("redo", 1)}>
        Redo
      </button>
      {conflicts}
    </>
  );
}

/** First checks for files that others have changed, which `conflicts` then shows; with `force` they are overwritten. */
export function useRewind(id: string) {
  const left = useSignal<Parameters<typeof Conflicts>[0] | null>(null);
  const dismiss = () => {
    left.value = null;
  };
  const rewind = async (direction: "undo" | "redo", steps: number, force = false): Promise<void> => {
    dismiss();
    const send = (body: object) => attempt(() => client.call(`POST /sessions/{id}/${direction}`, { id, body }));
    const seen = force ? null : await send({ steps, dry_run: true });
    if (!force && !seen) return;
    const overwrite = () => rewind(direction, steps, true);
    if (seen && seen.conflicts.length > 0) left.value = { direction, paths: seen.conflicts, overwrite, dismiss };
    else await send({ steps, ...(force && { force }) });
  };
  return { rewind, conflicts: left.value && <Conflicts {...left.value} /> };
}

// --- internal ---

function Conflicts(props: {
  readonly direction: string;
  readonly paths: readonly string[];
  readonly overwrite: () => unknown;
  readonly dismiss: () => void;
}) {
  const { direction, paths, overwrite, dismiss } = props;
  return (
    <div class="conflicts" role="alert">
      <p>Somebody has changed these files since, so {direction} would lose their work:</p>
      <ul>
        {paths.map((path) => (
          <li key={path}>{path}</li>
        ))}
      </ul>
      <button type="button" class="danger" onClick={overwrite}>
        Overwrite them
      </button>{" "}
      <button type="button" onClick={dismiss}>
        Leave everything as it is
      </button>
    </div>
  );
}
