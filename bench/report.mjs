// What every bench shares: contestants measured in turn, and one line per figure beside its floor.

/**
 * Runs every contestant once per round, the order reversed every other round, so that a noisy machine hits all alike.
 * Each contestant returns one sample (or a promise of one): a number, or several figures of one run.
 *
 * @template T
 * @param {Record<string, () => T | Promise<T>>} contestants
 * @param {{ runs?: number, warmup?: number, onRound?: (done: number) => void }} [options] `warmup` rounds are run and thrown away.
 * @returns {Promise<Record<string, T[]>>} the samples of each contestant, in order
 */
export async function interleave(contestants, { runs = 10, warmup = 1, onRound = () => {} } = {}) {
  const names = Object.keys(contestants);
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -warmup; round < runs; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const value = await contestants[name]();
      if (round >= 0) samples[name].push(value);
    }
    onRound(round + 1);
  }
  return samples;
}

/** The middle of the samples. */
export function median(samples) {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Milliseconds that `work` takes. */
export async function milliseconds(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/**
 * Prints `name | ours | floor | ratio | target`. A numeric target is a ratio to the floor; a string such as "60 MiB" is
 * a bound on our own figure, in the row's unit.
 *
 * @param {{ name: string, ours: number, floor?: number, unit: string, target?: number | string, better?: "lower" | "higher" }} figure
 * @returns {boolean} whether the target is met (true where there is none)
 */
export function row({ name, ours, floor, unit, target, better = "lower" }) {
  const ratio = floor === undefined ? undefined : ours / floor;
  const judged = typeof target === "number" ? ratio : ours;
  const bound = target === undefined ? undefined : Number.parseFloat(String(target));
  const met = bound === undefined || (better === "lower" ? judged <= bound : judged >= bound);
  const cells = [
    name,
    `${figure(ours)} ${unit}`,
    floor === undefined ? "-" : `${figure(floor)} ${unit}`,
    ratio === undefined ? "-" : `${ratio.toFixed(2)}x`,
    describeTarget(target, better) + (met ? "" : "  MISSED"),
  ];
  console.log(cells.join(" | "));
  return met;
}

/** The environment for a measured child: settings of the caller that slow every Node start are left out. */
export function cleanEnv(extra = {}) {
  const { NODE_EXTRA_CA_CERTS: _certificates, NODE_OPTIONS: _options, ...env } = process.env;
  return { ...env, ...extra };
}

/** A figure in as many digits as say something. */
export function figure(value) {
  if (value >= 1000) return Math.round(value).toLocaleString("en-US");
  return value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(2) : value.toFixed(4);
}

// --- internal ---

function describeTarget(target, better) {
  if (target === undefined) return "-";
  const sign = better === "lower" ? "<=" : ">=";
  return typeof target === "number" ? `${sign} ${target}x` : `${sign} ${target}`;
}
