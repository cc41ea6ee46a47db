/** A command whose first word says what to do: `sessions list`. Each action is loaded when it is chosen. */
import { type Invocation, type Run, UsageError } from "@chimera/host";

export type Actions = Readonly<Record<string, () => Promise<Run>>>;

export async function runAction(invocation: Invocation, where: string, actions: Actions, fallback: string) {
  const [word = fallback, ...operands] = invocation.operands;
  const load = Object.hasOwn(actions, word) ? actions[word] : undefined;
  if (!load) {
    const known = Object.keys(actions).join(", ");
    throw new UsageError(
      `${invocation.profile.name} ${where}: unknown action ${JSON.stringify(word)}; one of ${known}`,
    );
  }
  const run = await load();
  return run({ ...invocation, operands });
}

/** The operand that must be there. */
export function requireOperand({ profile, operands }: Invocation, where: string, what: string): string {
  const [first] = operands;
  if (first !== undefined && first.trim() !== "") return first;
  throw new UsageError(`${profile.name} ${where}: name ${what}`);
}
