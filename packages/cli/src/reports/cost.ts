/** `sessions cost` and `stats`: the cost of runs in total, per model and per run. */
import type { Invocation } from "@chimera/host";
import { type CostRollup, type CostRow, costRollup, stats } from "@chimera/run-reports";
import { choiceFlag, isSet, limitFlag, textFlag } from "../flags.js";
import { type Column, printJson, printLines, printTable } from "../output.js";
import { withStore } from "../store.js";
import { localTime } from "../terminal/text.js";

export async function showCost(invocation: Invocation): Promise<number> {
  const { flags, profile } = invocation;
  const asked = isSet(flags, "json", "sessions") ? "json" : textFlag(flags, "format");
  const format = choiceFlag("format", asked, ["text", "json", "csv"]);
  const asking = {
    now: Date.now(),
    since: textFlag(flags, "since") ?? null,
    model: textFlag(flags, "model", "sessions") ?? null,
    limit: limitFlag(textFlag(flags, "limit", "sessions"), 0) || null,
    ...(!isSet(flags, "all-clis") && { prefixes: [profile.name] }),
  };
  const rollup = await withStore(invocation, ({ store }) => costRollup(store, asking));
  if (format === "json") {
    const { totals, filters, by_model, by_run } = rollup;
    printJson(invocation, { totals, filters, by_model, rows: by_run });
  } else if (format === "csv") printLines(invocation, csvLines(rollup.by_run));
  else await printText(invocation, rollup);
  return 0;
}

export async function showStats(invocation: Invocation): Promise<number> {
  const { flags, profile } = invocation;
  const asked = textFlag(flags, "format", "stats") ?? textFlag(flags, "output-format");
  const format = isSet(flags, "json") ? "json" : choiceFlag("format", asked, ["text", "json"]);
  const asking = {
    now: Date.now(),
    since: textFlag(flags, "since", "stats") ?? null,
    model: textFlag(flags, "model", "stats") ?? textFlag(flags, "sessions-model") ?? null,
    ...(!isSet(flags, "all-clis") && { prefixes: [profile.name] }),
  };
  const figures = await withStore(invocation, ({ store }) => stats(store, asking));
  if (format === "json") {
    printJson(invocation, figures);
    return 0;
  }
  const dollars = (amount: number) => `$${amount.toFixed(4)}`;
  const rows: [string, string][] = [
    ["runs", `${figures.total_runs} (${figures.successful_runs} ok, ${figures.failed_runs} failed)`],
    ["cost", dollars(figures.total_cost_usd)],
    [
      "cost per run",
      `avg ${dollars(figures.avg_cost_usd)}, p50 ${dollars(figures.p50_cost_usd)}, p95 ${dollars(figures.p95_cost_usd)}`,
    ],
    [
      "tokens",
      `${figures.total_tokens} (${figures.total_input_tokens} in, ${figures.total_output_tokens} out, ` +
        `${figures.total_cache_tokens} cached)`,
    ],
  ];
  printLines(
    invocation,
    rows.map(([label, value]) => `${label.padEnd(14)}${value}`),
  );
  const models = Object.entries(figures.by_model);
  if (models.length > 0) {
    printLines(invocation, [""]);
    await printTable(invocation, MODELS, models);
  }
  return 0;
}

// --- internal ---

const MODELS: readonly Column<[name: string, CostRollup["by_model"][string]]>[] = [
  { title: "MODEL", cell: ([name]) => name },
  { title: "RUNS", align: "right", cell: ([, of]) => String(of.runs) },
  { title: "TOKENS", align: "right", cell: ([, of]) => String(of.tokens) },
  { title: "COST", align: "right", cell: ([, of]) => `$${of.cost_usd.toFixed(4)}` },
];

const RUNS: readonly Column<CostRow>[] = [
  { title: "SESSION_ID", width: 38, cell: (row) => row.run_id },
  { title: "DATE", width: 16, cell: (row) => localTime(row.started_at) },
  { title: "MODEL", width: 24, cell: (row) => row.model },
  { title: "STEPS", width: 5, align: "right", cell: (row) => String(row.steps) },
  { title: "TOKENS", width: 10, align: "right", cell: (row) => String(row.total_tokens) },
  { title: "COST", width: 10, align: "right", cell: (row) => `$${row.cost_usd.toFixed(4)}` },
  { title: "OK", width: 3, cell: (row) => (row.success ? "yes" : "no") },
];

async function printText(invocation: Invocation, { totals, by_model, by_run }: CostRollup): Promise<void> {
  await printTable(invocation, RUNS, by_run);
  printLines(invocation, [""]);
  await printTable(invocation, MODELS, Object.entries(by_model));
  const runs = `${totals.runs} ${totals.runs === 1 ? "run" : "runs"}`;
  printLines(invocation, ["", `total: ${runs}, ${totals.tokens} tokens, $${totals.cost_usd.toFixed(4)}`]);
}

const CSV = [
  ["run_id", (row: CostRow) => row.run_id],
  ["started_at", (row: CostRow) => row.started_at ?? ""],
  ["model", (row: CostRow) => row.model],
  ["cost_usd", (row: CostRow) => row.cost_usd.toFixed(6)],
  ["total_tokens", (row: CostRow) => String(row.total_tokens)],
  ["input_tokens", (row: CostRow) => String(row.input_tokens)],
  ["output_tokens", (row: CostRow) => String(row.output_tokens)],
  ["cache_tokens", (row: CostRow) => String(row.cache_tokens)],
  ["success", (row: CostRow) => String(row.success)],
  ["steps", (row: CostRow) => String(row.steps)],
] as const;

function csvLines(rows: readonly CostRow[]): string[] {
  return [
    CSV.map(([name]) => name).join(","),
    ...rows.map((row) => CSV.map(([, cell]) => csvCell(cell(row))).join(",")),
  ];
}

/** Escapes a leading formula sign, because people open these files in spreadsheets. */
function csvCell(text: string): string {
  const safe = /^[=+@\t\r]|^-(?!\d)/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
