/** Loads the code of a command when the person runs it. Its expected failures become one line. */
import { type Command, type Invocation, type RunCommand, UsageError } from "@chimera/host";

/** Makes a row's `load`. */
export function loaded(code: () => Promise<RunCommand>): () => Promise<RunCommand> {
  return async () => {
    const [{ reported }, run] = await Promise.all([import("./reported.js"), code()]);
    return reported(run);
  };
}

export interface Action {
  /** Most operands. @defaultValue 0 */
  readonly maxOperands?: number;
  load(): Promise<RunCommand>;
}

/** The same for a command whose first word names an action, as in `sessions list`. Each action has its own number of operands. */
export function actionsOf(
  actions: Readonly<Record<string, Action>>,
  fallback: string,
): Pick<Command, "maxOperands" | "load"> {
  const load = loaded(async () => async (invocation) => {
    const [word = fallback, ...operands] = invocation.operands;
    const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
    if (!action) {
      const known = Object.keys(actions).join(", ");
      throw new UsageError(`unknown action ${JSON.stringify(word)}; one of ${known}`);
    }
    const extra = operands[action.maxOperands ?? 0];
    if (extra !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(extra)}`);
    const run = await action.load();
    return run({ ...invocation, operands });
  });
  return { maxOperands: Number.POSITIVE_INFINITY, load };
}

/** The first operand; throws a usage error without one. */
export function requireOperand({ operands }: Invocation, what: string): string {
  const [first] = operands;
  if (first !== undefined && first.trim() !== "") return first;
  throw new UsageError(`name ${what}`);
}
