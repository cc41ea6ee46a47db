/**
 * Signals that end together, and time limits, held by ordinary references: a composite of `AbortSignal.any` and
 * `AbortSignal.timeout` may be collected on Node 20 before it fires.
 */
import { startTimer } from "@chimera/acp-schema/timer";

export interface Linked {
  readonly signal: AbortSignal;
  /** Lets go of the sources. */
  unlink(): void;
}

/** Aborts when any source does, with its reason. */
export function link(...sources: readonly AbortSignal[]): Linked {
  const own = new AbortController();
  const onAbort = () => own.abort(sources.find((source) => source.aborted)?.reason);
  const unlink = () => {
    for (const source of sources) source.removeEventListener("abort", onAbort);
  };
  for (const source of sources) source.addEventListener("abort", onAbort, { once: true });
  if (sources.some((source) => source.aborted)) onAbort();
  return { signal: own.signal, unlink };
}

/** Runs `use` with a signal that also aborts after `ms`, then with a `TimeoutError`. */
export async function withDeadline<T>(
  outer: AbortSignal,
  ms: number,
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timer = startTimer(ms, () => limit.abort(new DOMException("it took too long", "TimeoutError")));
  const { signal, unlink } = link(outer, limit.signal);
  try {
    return await use(signal);
  } finally {
    timer.stop();
    unlink();
  }
}
