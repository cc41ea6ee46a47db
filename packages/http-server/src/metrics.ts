/** Numbers for an operator, counted from the records of loaded sessions and from requests. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createTurnEnds, isLost, type RecordOf, type RecordType, type SessionRecord } from "@chimera/acp-schema/events";
import type { Limits, OwnedSession, Sessions } from "@chimera/session";
import { AMOUNTS, amounts } from "./amounts.js";

/** Every metric. The operator's guide lists the same. */
export const METRICS: readonly Metric[] = [
  { name: "build_info", type: "gauge", help: "1, with the version" },
  { name: "sessions", type: "gauge", help: "Loaded sessions by state" },
  { name: "turn_queue", type: "gauge", help: "Prompts that wait for a turn before them" },
  { name: "permissions_waiting", type: "gauge", help: "Permission requests that nobody has answered" },
  { name: "records_total", type: "counter", help: "Records written, by type" },
  { name: "turns_total", type: "counter", help: "Turns that ended, by outcome" },
  { name: "turn_seconds", type: "histogram", help: "How long turns took, from their start to their last record" },
  { name: "tool_calls_total", type: "counter", help: "Tool calls, by tool and outcome" },
  { name: "tool_seconds", type: "histogram", help: "How long tool calls took, by tool" },
  { name: "permissions_total", type: "counter", help: "Resolved permission requests, by decision and by whom" },
  { name: "tokens_total", type: "counter", help: "Tokens used, by kind" },
  { name: "cost_usd_total", type: "counter", help: "Dollars spent, as far as prices are known" },
  { name: "sandbox_violations_total", type: "counter", help: "Calls that a sandbox stopped" },
  { name: "http_requests_total", type: "counter", help: "Requests answered, by route and status" },
  { name: "http_seconds", type: "histogram", help: "How long answers took, by route; streams are not counted" },
  { name: "streams", type: "gauge", help: "Event streams and other answers that last" },
  { name: "limit", type: "gauge", help: "What each person, or all together, may use" },
  { name: "limit_used", type: "gauge", help: "What all use together" },
  { name: "limit_refusals_total", type: "counter", help: "Requests beyond a limit" },
  { name: "process_start_time_seconds", type: "gauge", help: "When the process started, in seconds since 1970" },
  { name: "process_cpu_seconds_total", type: "counter", help: "Processor time used" },
  { name: "process_resident_memory_bytes", type: "gauge", help: "Memory in use" },
  { name: "nodejs_eventloop_lag_seconds", type: "gauge", help: "How late timers fired, since the last scrape: p99" },
];

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(
  sessions: Sessions,
  { name, version, streams }: { readonly name: string; readonly version: string; readonly streams: () => number },
) {
  const registry = createRegistry(name, METRICS);
  let lag: ReturnType<typeof monitorEventLoopDelay> | null = null;
  const watch = (session: OwnedSession) => {
    const left = new AbortController();
    const folds = createFolds(session);
    // Each process counts only the records that it writes itself.
    const from = { from: session.lastSeq, signal: left.signal, sleeps: "let go" } as const;
    const { ended } = sessions.logs.follow(session.id, from, (batch) => {
      for (const entry of batch) {
        registry.add("records_total", { type: entry.type });
        // A record whose type has no row is not decoded.
        if (!isLost(entry)) folds.get(entry.type)?.(entry.event);
      }
    });
    ended.catch(() => {});
    void session.ended.then(() => (session.isLetGo ? left.abort() : setImmediate(() => left.abort())));
  };
  /** The metrics that each type of record changes. Most records of a log have a type without a row. */
  const createFolds = (session: OwnedSession) => {
    const tools = new Map<string, string>();
    let startedAt = 0;
    const whatEnds = createTurnEnds();
    let used = usageOf(session);
    const end = (record: SessionRecord, outcome: string): void => {
      registry.add("turns_total", { outcome });
      if (whatEnds(record) === "waiting") return;
      if (startedAt > 0) registry.observe("turn_seconds", {}, (Date.parse(record.ts) - startedAt) / 1000);
      startedAt = 0;
      tools.clear();
      const now = usageOf(session);
      addSpent(registry, used, now);
      used = now;
    };
    const folds: { readonly [T in RecordType]?: (record: RecordOf<T>) => void } = {
      turn_start(record) {
        startedAt = Date.parse(record.ts);
        whatEnds(record);
      },
      tool_call: ({ metadata }) => void tools.set(metadata.call_id, metadata.tool),
      tool_result({ metadata }) {
        const tool = tools.get(metadata.call_id) ?? "unknown";
        tools.delete(metadata.call_id);
        registry.add("tool_calls_total", { tool, outcome: metadata.success ? "success" : "failed" });
        registry.observe("tool_seconds", { tool }, metadata.duration_ms / 1000);
      },
      permission_resolved: ({ metadata: { decision, by } }) => registry.add("permissions_total", { decision, by }),
      sandbox_violation: () => registry.add("sandbox_violations_total", {}),
      agent_result: (record) => end(record, record.metadata.success ? "success" : "failed"),
      cancelled: (record) => end(record, "cancelled"),
    };
    return new Map(Object.entries(folds)) as ReadonlyMap<string, (record: SessionRecord) => void>;
  };
  for (const session of sessions.live()) watch(session);
  sessions.onLoad(watch);

  return {
    /** Counts an answered request. */
    answered(route: string, status: number, seconds: number, isStream: boolean) {
      registry.add("http_requests_total", { route, status: String(status) });
      if (!isStream) registry.observe("http_seconds", { route }, seconds);
    },
    text() {
      const live = sessions.live();
      const states = ["idle", "running", "cancelled"] as const;
      const late = lag ? lag.percentile(99) / 1e9 : 0;
      lag?.reset();
      if (!lag) {
        lag = monitorEventLoopDelay({ resolution: 20 });
        lag.enable();
      }
      const { user, system } = process.cpuUsage();
      const now: Sample[] = [
        ["build_info", { version }, 1],
        ...states.map((state): Sample => ["sessions", { state }, live.filter((one) => one.state === state).length]),
        ["turn_queue", {}, live.reduce((sum, { queued }) => sum + queued, 0)],
        ["permissions_waiting", {}, live.reduce((sum, { openPermissions }) => sum + openPermissions.size, 0)],
        ["streams", {}, streams()],
        ...limitSamples(sessions.quota),
        ["process_start_time_seconds", {}, Math.round(Date.now() / 1000 - process.uptime())],
        ["process_cpu_seconds_total", {}, (user + system) / 1e6],
        ["process_resident_memory_bytes", {}, process.memoryUsage.rss()],
        ["nodejs_eventloop_lag_seconds", {}, Number.isFinite(late) ? late : 0],
      ];
      return registry.text(now);
    },
  };
}

// --- internal ---

/** The limits, their use, and how often each was reached. */
function limitSamples({ use, refusals, ...quotas }: Sessions["quota"]): Sample[] {
  const known = (name: string, limits: Limits | undefined, labels: Labels = {}) =>
    Object.entries(amounts(limits)).flatMap(([limit, value]): Sample[] =>
      value === null ? [] : [[name, { limit, ...labels }, value]],
    );
  return [
    ...known("limit", quotas.each, { whose: "each" }),
    ...known("limit", quotas.all, { whose: "all" }),
    ...known("limit_used", use()),
    ...refusals().map(
      ({ limit, whose, count }): Sample => ["limit_refusals_total", { limit: AMOUNTS[limit], whose }, count],
    ),
  ];
}

/** Counts the tokens and the cost of a session since it used so much. */
function addSpent(registry: Registry, used: Used, now: Used): void {
  for (const kind of ["input", "output", "cache"] as const) {
    if (now[kind] > used[kind]) registry.add("tokens_total", { kind }, now[kind] - used[kind]);
  }
  if (now.total_usd > used.total_usd) registry.add("cost_usd_total", {}, now.total_usd - used.total_usd);
}

type Registry = ReturnType<typeof createRegistry>;
type Used = ReturnType<typeof usageOf>;

function usageOf({ conversation }: OwnedSession) {
  const { input = 0, output = 0, cache = 0, total_usd = 0 } = conversation.facts.usage ?? {};
  return { input, output, cache, total_usd };
}

interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [name: string, labels: Labels, value: number];

/** Upper bounds in seconds, from a quick answer to a turn of half an hour. */
const BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];
/** Combinations of labels of one metric. Further ones count under the label value `other`. */
const MOST_SERIES = 300;
/** Characters of a label's value. */
const LONGEST_LABEL = 100;

interface Series<T> {
  readonly labels: Labels;
  value: T;
}

/**
 * Numbers by name and labels, and their text in Prometheus' format. Every record updates a number, so updates are cheap: labels become
 * text only when somebody asks for the numbers.
 *
 * @param prefix stands before every name that does not begin with `process_` or `nodejs_`
 */
function createRegistry(prefix: string, metrics: readonly Metric[]) {
  const counters = new Map<string, Map<string, Series<number>>>();
  const histograms = new Map<string, Map<string, Series<Histogram>>>();
  const seriesOf = <T>(all: Map<string, Map<string, Series<T>>>, name: string, labels: Labels, first: () => T) => {
    const known = all.get(name) ?? new Map<string, Series<T>>();
    all.set(name, known);
    const key = keyOf(labels);
    const series = known.get(key);
    if (series) return series;
    const isFull = known.size >= MOST_SERIES;
    const shown = Object.entries(labels).map(([label, value]) => [label, isFull ? "other" : cut(value)] as const);
    const made = { labels: Object.fromEntries(shown), value: first() };
    const place = keyOf(made.labels);
    const there = known.get(place) ?? made;
    known.set(place, there);
    return there;
  };
  return {
    add(name: string, labels: Labels, by: number = 1) {
      seriesOf(counters, name, labels, () => 0).value += by;
    },
    /** Counts a duration in a histogram. */
    observe(name: string, labels: Labels, seconds: number) {
      const { value } = seriesOf(histograms, name, labels, () => ({ counts: BUCKETS.map(() => 0), sum: 0, count: 0 }));
      for (let at = 0; at < BUCKETS.length; at++) if (seconds <= BUCKETS[at]!) value.counts[at]! += 1;
      value.sum += seconds;
      value.count += 1;
    },
    /** @param now the current values of gauges, and of counters that are kept elsewhere */
    text(now: readonly Sample[]) {
      const lines: string[] = [];
      for (const { name, type, help } of metrics) {
        const full = /^(process|nodejs)_/.test(name) ? name : `${prefix}_${name}`;
        lines.push(`# HELP ${full} ${help}`, `# TYPE ${full} ${type}`);
        for (const { labels, value } of counters.get(name)?.values() ?? [])
          lines.push(`${full}${formatLabels(labels)} ${value}`);
        for (const [one, labels, value] of now) if (one === name) lines.push(`${full}${formatLabels(labels)} ${value}`);
        for (const { labels, value } of histograms.get(name)?.values() ?? [])
          lines.push(...histogramLines(full, formatLabels(labels), value));
      }
      return `${lines.join("\n")}\n`;
    },
  };
}

/** The key of a series. Callers give the labels of one metric always in the same order. */
function keyOf(labels: Labels): string {
  let key = "";
  for (const name in labels) key += `${cut(labels[name] ?? "")}\n`;
  return key;
}

const cut = (value: string): string => (value.length > LONGEST_LABEL ? value.slice(0, LONGEST_LABEL) : value);

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
  return cut(value).replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
