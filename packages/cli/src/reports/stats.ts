/** `stats`: usage in figures. */
import type { Invocation } from "@chimera/host";
import { stats } from "@chimera/run-reports";
import { choiceFlag, isSet, textFlag } from "../flags.js";
import { printJson, printLines, printTable } from "../output.js";
import { MODELS } from "../sessions/cost.js";
import { openStore } from "../store.js";

export async function showStats(invocation: Invocation): Promise<number> {
  const { flags, profile } = invocation;
  const asked = textFlag(flags, "format", "stats") ?? textFlag(flags, "output-format");
  const format = isSet(flags, "json") ? "json" : choiceFlag("format", asked, ["text", "json"]);
  const { store } = await openStore(invocation);
  const figures = await stats(store, {
    now: Date.now(),
    since: textFlag(flags, "since", "stats") ?? null,
    model: textFlag(flags, "model", "stats") ?? textFlag(flags, "sessions-model") ?? null,
    ...(!isSet(flags, "all-clis") && { prefixes: [profile.name] }),
  });
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
