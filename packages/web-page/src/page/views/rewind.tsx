/** Undo and redo: what they did to files, and files that somebody changed since, which are overwritten only when asked. */
import type { RewindReply } from "@chimera/acp-schema/http";
import { useSignal } from "@preact/signals";
import { attempt, client } from "../server/client.js";
import type { OpenedSession } from "../session/opened.js";

export function RewindButtons({ session }: { readonly session: OpenedSession }) {
  session.changed.value;
  const { conversation, id, isBusy } = session;
  const { left, rewind, dismiss } = useRewind(id);
  return (
    <>
      <button type="button" disabled={isBusy || conversation.undoable().length === 0} onClick={() => rewind("undo", 1)}>
        Undo
      </button>
      <button type="button" disabled={isBusy || conversation.redoable().length === 0} onClick={() => rewind("redo", 1)}>
        Redo
      </button>
      <Conflicts left={left.value} rewind={rewind} dismiss={dismiss} />
    </>
  );
}

export type Direction = "undo" | "redo";

interface Left {
  readonly direction: Direction;
  readonly steps: number;
  readonly conflicts: readonly string[];
}

/** Looks first whether anybody else's work is in the way; with `force` it is overwritten. */
export function useRewind(id: string) {
  const left = useSignal<Left | null>(null);
  const rewind = async (direction: Direction, steps: number, force = false): Promise<RewindReply | null> => {
    left.value = null;
    const send = (body: object) => attempt(() => client.call(`POST /sessions/{id}/${direction}`, { id, body }));
    const seen = force ? null : await send({ steps, dry_run: true });
    if (!force && !seen) return null;
    if (seen && seen.conflicts.length > 0) {
      left.value = { direction, steps, conflicts: seen.conflicts };
      return null;
    }
    return send({ steps, ...(force && { force }) });
  };
  const dismiss = () => {
    left.value = null;
  };
  return { left, rewind, dismiss };
}

export function Conflicts({
  left,
  rewind,
  dismiss,
}: {
  readonly left: Left | null;
  readonly rewind: (direction: Direction, steps: number, force?: boolean) => unknown;
  readonly dismiss: () => void;
}) {
  if (!left) return null;
  const { direction, steps, conflicts } = left;
  return (
    <div class="conflicts" role="alert">
      <p>Somebody has changed these files since, so {direction} would lose their work:</p>
      <ul>
        {conflicts.map((path) => (
          <li key={path}>{path}</li>
        ))}
      </ul>
      <button type="button" class="danger" onClick={() => rewind(direction, steps, true)}>
        Overwrite them
      </button>{" "}
      <button type="button" onClick={dismiss}>
        Leave everything as it is
      </button>
    </div>
  );
}
