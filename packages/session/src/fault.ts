/** The state after a failed write: nothing is written until the log was read again. Every attempt to write tries to read it. */
import { isStoreError } from "@chimera/event-store";
import { namedError } from "./errors.js";

/** @param deps.id the session, which errors name */
export function createFault(deps: {
  readonly id: string;
  readonly onFault: (error: unknown) => void;
  /** Reads the log again. */
  readonly reread: () => Promise<void>;
  /** Called when the log was read and may be written again. */
  readonly onSound: (error: unknown) => void;
}) {
  let fault: { readonly error: unknown } | null = null;
  let healing: Promise<void> | null = null;
  const reread = async (error: unknown): Promise<void> => {
    await deps.reread();
    fault = null;
    deps.onSound(error);
  };
  const heal = (error: unknown): void => {
    healing ??= reread(error)
      // The log cannot be read either. The next write tries again.
      .catch(() => {})
      .finally(() => {
        healing = null;
      });
  };
  /** Call this with the error of a failed write. */
  const report = (error: unknown): void => {
    // A malformed event is a mistake of its sender, and must not stop other writes.
    if (fault || !isStoreError(error) || error.code === "invalid_event" || error.code === "too_large") return;
    fault = { error };
    deps.onFault(error);
    heal(error);
  };
  return {
    report,
    /** The same promise with the session's own errors. A caller that does not wait for it still learns of a failed write, through the fault. */
    heard<W extends Promise<void> | null>(waiting: W): W {
      const told = waiting?.catch((error) => {
        // A closed log has written everything.
        if (isStoreError(error) && error.code === "closed") return;
        report(error);
        throw namedError(error, deps.id);
      });
      told?.catch(() => {});
      return (told ?? null) as W;
    },
    /** Throws the error of the failed write until the log was read again. */
    guard(): void {
      if (!fault) return;
      heal(fault.error);
      throw fault.error;
    },
    healed: async () => healing,
  };
}
