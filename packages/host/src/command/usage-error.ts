/** Mistakes in what was typed, and what was perhaps meant. */
const BRAND = Symbol.for("@chimera/host/usage-error");

/** One line, exit code 2. What was called is put in front of it when it is reported. */
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

/** The known word closest to a mistyped one, if it is close at all. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const scored = known.map((candidate) => ({ candidate, distance: distance(word, candidate) }));
  const best = scored.sort((a, b) => a.distance - b.distance)[0];
  return best && best.distance <= Math.max(2, Math.floor(word.length / 3)) ? best.candidate : undefined;
}

// --- internal ---

/** How many letters differ; two that changed places are one mistake. */
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
