/** Numbers by name and labels, and their text in Prometheus' format. An update is one lookup in a map. */

export interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
}

export interface Registry {
  add(name: string, labels: Labels, by?: number): void;
  /** Counts a duration in a histogram. */
  observe(name: string, labels: Labels, seconds: number): void;
  /** @param now values of gauges, and of counters that somebody else keeps, as they are read now. */
  text(now: readonly Sample[]): string;
}

export type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [name: string, labels: Labels, value: number];

/** Upper bounds in seconds: a quick answer and a turn of half an hour both have a place. */
const BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];
/** Combinations of labels of one metric; what is more counts under the label values `other`. */
const MOST_SERIES = 300;

/** @param prefix goes before every name that does not begin with `process_` or `nodejs_`. */
export function createRegistry(prefix: string, metrics: readonly Metric[]): Registry {
  const counters = new Map<string, Map<string, number>>();
  const histograms = new Map<string, Map<string, Histogram>>();
  const seriesOf = <T>(all: Map<string, Map<string, T>>, name: string, labels: Labels): [Map<string, T>, string] => {
    const series = all.get(name) ?? new Map<string, T>();
    all.set(name, series);
    const key = formatLabels(labels);
    if (series.has(key) || series.size < MOST_SERIES) return [series, key];
    return [series, formatLabels(Object.fromEntries(Object.keys(labels).map((label) => [label, "other"])))];
  };
  return {
    add(name, labels, by = 1) {
      const [series, key] = seriesOf(counters, name, labels);
      series.set(key, (series.get(key) ?? 0) + by);
    },
    observe(name, labels, seconds) {
      const [series, key] = seriesOf(histograms, name, labels);
      const histogram = series.get(key) ?? { counts: BUCKETS.map(() => 0), sum: 0, count: 0 };
      series.set(key, histogram);
      for (let at = 0; at < BUCKETS.length; at++) if (seconds <= BUCKETS[at]!) histogram.counts[at]! += 1;
      histogram.sum += seconds;
      histogram.count += 1;
    },
    text(now) {
      const lines: string[] = [];
      for (const { name, type, help } of metrics) {
        const full = /^(process|nodejs)_/.test(name) ? name : `${prefix}_${name}`;
        lines.push(`# HELP ${full} ${help}`, `# TYPE ${full} ${type}`);
        for (const [key, value] of counters.get(name) ?? []) lines.push(`${full}${key} ${value}`);
        for (const [one, labels, value] of now) if (one === name) lines.push(`${full}${formatLabels(labels)} ${value}`);
        for (const [key, histogram] of histograms.get(name) ?? []) lines.push(...histogramLines(full, key, histogram));
      }
      return `${lines.join("\n")}\n`;
    },
  };
}

// --- internal ---

interface Histogram {
  readonly counts: number[];
  sum: number;
  count: number;
}

function histogramLines(name: string, key: string, { counts, sum, count }: Histogram): string[] {
  const labels = key === "" ? "" : `${key.slice(1, -1)},`;
  return [
    ...counts.map((value, at) => `${name}_bucket{${labels}le="${BUCKETS[at]}"} ${value}`),
    `${name}_bucket{${labels}le="+Inf"} ${count}`,
    `${name}_sum${key} ${sum}`,
    `${name}_count${key} ${count}`,
  ];
}

function formatLabels(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}

function escaped(value: string): string {
  return value.slice(0, 100).replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
