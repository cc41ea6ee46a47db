/** What runs cost, by day and by model. */
import type { RunsCostReply } from "@chimera/acp-schema/http";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { attempt, client } from "../server/client.js";
import { titleOf } from "../server/notify.js";
import { rows } from "../server/rows.js";
import { plural } from "../session/project.js";
import { dollars, tokens } from "./figures.js";
import { addressOf } from "./route.js";

const PERIODS = [
  ["7d", "a week"],
  ["30d", "a month"],
  ["90d", "three months"],
] as const;
/** Rows of the table; the sums count all. */
const SHOWN_RUNS = 100;

export function Runs() {
  const since = useSignal("30d");
  const cost = useSignal<RunsCostReply | null>(null);
  useEffect(
    () =>
      since.subscribe((period) => {
        void attempt(async () => {
          cost.value = await client.runs.cost({ since: period });
        });
      }),
    [],
  );
  const { totals, by_model, by_run } = cost.value ?? {};
  const titles = new Map(rows.value.map((row) => [row.session_id, titleOf(row)]));
  return (
    <main class="view">
      <h1>Runs and cost</h1>
      <label>
        Of the last{" "}
        <select
          value={since.value}
          onChange={(event) => {
            since.value = event.currentTarget.value;
          }}
        >
          {PERIODS.map(([id, name]) => (
            <option value={id} key={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {totals && by_run && by_model && (
        <>
          <p class="sums">
            <b>{dollars(totals.cost_usd)}</b> for {plural(totals.runs, "run")} ({totals.failed_runs} failed),{" "}
            {tokens(totals.tokens)} tokens
            {totals.p50_cost_usd > 0 && `; half of the runs cost at most ${dollars(totals.p50_cost_usd)}`}
          </p>
          {totals.cost_usd > 0 && <Chart days={byDay(by_run, Number.parseInt(since.value, 10) + 1)} />}
          <Table
            head={["Model", "Runs", "Cost", "Tokens"]}
            rows={Object.entries(by_model).map(([model, { runs, cost_usd, tokens: used }]) => [
              model,
              runs,
              dollars(cost_usd),
              tokens(used),
            ])}
          />
          <Table
            head={["Run", "Started", "Model", "Cost", "Steps", "Result"]}
            rows={by_run.slice(0, SHOWN_RUNS).map((run) => [
              <a href={addressOf({ view: "session", id: run.run_id })} title={run.run_id} key="run">
                {titles.get(run.run_id) ?? run.run_id}
              </a>,
              run.started_at
                ? new Date(run.started_at).toLocaleString([], { dateStyle: "short", timeStyle: "short" })
                : "",
              run.model ?? "",
              dollars(run.cost_usd),
              run.steps,
              run.success === null ? "" : run.success ? "done" : "failed",
            ])}
          />
        </>
      )}
    </main>
  );
}

// --- internal ---

interface Day {
  readonly name: string;
  readonly cost: number;
}

/** The period begins in the middle of a day, so it touches one day more than it has. */
function byDay(runs: RunsCostReply["by_run"], count: number): Day[] {
  const sums = new Map<string, number>();
  for (const { started_at, cost_usd } of runs) {
    const day = started_at?.slice(0, 10);
    if (day !== undefined) sums.set(day, (sums.get(day) ?? 0) + cost_usd);
  }
  return Array.from({ length: count }, (_, at) => {
    const name = new Date(Date.now() - (count - 1 - at) * 86_400_000).toISOString().slice(0, 10);
    return { name, cost: sums.get(name) ?? 0 };
  });
}

const HEIGHT = 120;
const WIDTH = 900;

function Chart({ days }: { readonly days: readonly Day[] }) {
  const step = WIDTH / days.length;
  const dearest = days.reduce((a, b) => (b.cost > a.cost ? b : a));
  return (
    <svg
      class="chart"
      viewBox={`0 0 ${WIDTH} ${HEIGHT + 20}`}
      role="img"
      aria-label={`Cost by day; the most was ${dollars(dearest.cost)} on ${dearest.name}`}
    >
      {days.map(({ name, cost }, at) => {
        const height = (cost / (dearest.cost || 1)) * HEIGHT;
        return (
          <rect key={name} x={at * step + 1} y={HEIGHT - height} width={step - 2} height={height}>
            <title>{`${name}: ${dollars(cost)}`}</title>
          </rect>
        );
      })}
      <text x={0} y={HEIGHT + 15}>
        {days[0]?.name}
      </text>
      <text x={WIDTH} y={HEIGHT + 15} text-anchor="end">
        {days.at(-1)?.name}
      </text>
    </svg>
  );
}

type Cell = string | number | preact.JSX.Element;

function Table({ head, rows }: { readonly head: readonly string[]; readonly rows: readonly (readonly Cell[])[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls can be reached by keyboard.
    <div class="wide" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, at) => (
                <td key={at}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
