/** The middle value, or the mean of the two in the middle; 0 of nothing. */
export function median(ascending: readonly number[]): number {
  if (ascending.length === 0) return 0;
  const middle = Math.floor(ascending.length / 2);
  const upper = ascending[middle]!;
  return ascending.length % 2 === 1 ? upper : (ascending[middle - 1]! + upper) / 2;
}

/** The value at the nearest rank: `share` (0 to 1) of the count, halves rounded to even, at least the first; 0 of nothing. */
export function nearestRank(ascending: readonly number[], share: number): number {
  if (ascending.length === 0) return 0;
  const rank = Math.min(Math.max(1, roundHalfEven(share * ascending.length)), ascending.length);
  return ascending[rank - 1]!;
}

// --- internal ---

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
