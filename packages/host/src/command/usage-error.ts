/** Errors for mistyped command lines, and suggestions of what was meant. */
const BRAND = Symbol.for("@chimera/host/usage-error");

/** A mistake of the person: one line, exit code 2. The report puts the program and command in front of the message. */
export class UsageError extends Error {
  readonly [BRAND] = true;

  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

export function isUsageError(error: unknown): error is UsageError {
  return typeof error === "object" && error !== null && BRAND in error;
}

/** The known word nearest to a mistyped one; undefined when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const scored = known.map((candidate) => ({ candidate, distance: distance(word, candidate) }));
  const best = scored.sort((a, b) => a.distance - b.distance)[0];
  // Of a short word, two letters are half.
  const most = word.length <= 4 ? 1 : Math.max(2, Math.floor(word.length / 3));
  return best && best.distance <= most ? best.candidate : undefined;
}

// --- internal ---

/** How many letters differ; two swapped letters count as one. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const other = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2]! + 1 : other;
      current.push(Math.min(other, swapped, previous[j]! + 1, current[j - 1]! + 1));
    }
    [before, previous] = [previous, current];
  }
  return previous[b.length]!;
}
