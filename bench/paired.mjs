// By how much one build differs from another, from samples taken in pairs. A disturbance of the machine hits both of a pair, so the
// ratio within each pair is looked at, and the middle one of these.

/**
 * The median of the paired ratios and an interval that holds the true one with at least this confidence: two of the sorted ratios,
 * chosen by the binomial distribution. Nothing is assumed of how the samples are spread.
 *
 * @param {readonly number[]} baseline
 * @param {readonly number[]} current the partner of each, in order
 * @param {{ better?: "lower" | "higher", confidence?: number }} [options]
 * @returns {{ median: number, low: number, high: number }} how much worse the current one is: 0.05 is 5 %. Too few pairs for the
 *   confidence have an interval without bounds
 */
export function pairedDifference(baseline, current, { better = "lower", confidence = 0.95 } = {}) {
  if (baseline.length !== current.length || baseline.length === 0) throw new Error("samples come in pairs");
  const worse = baseline
    .map((before, at) => (better === "lower" ? current[at] / before : before / current[at]) - 1)
    .sort((a, b) => a - b);
  const n = worse.length;
  const outside = pairsOutside(n, confidence);
  return {
    median: (worse[Math.floor((n - 1) / 2)] + worse[Math.floor(n / 2)]) / 2,
    low: outside === 0 ? Number.NEGATIVE_INFINITY : worse[outside - 1],
    high: outside === 0 ? Number.POSITIVE_INFINITY : worse[n - outside],
  };
}

// --- internal ---

/**
 * The rank of the interval's ends: the greatest r for which fewer than r of n tosses of a coin show heads, or tails, with no more
 * than the chance that is left. Zero when even the least and the greatest do not hold the median surely enough.
 */
function pairsOutside(n, confidence) {
  const allowed = (1 - confidence) / 2;
  let chance = 0.5 ** n;
  let sum = chance;
  let rank = 0;
  while (sum <= allowed) {
    rank++;
    chance *= (n - rank + 1) / rank;
    sum += chance;
  }
  return rank;
}
