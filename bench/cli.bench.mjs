// What a person types, as whole processes: `--version` against bare Node, and a list of many sessions against one of few.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeSessionId } from "../packages/event-store/dist/index.js";
import { cleanEnv, interleave, median, milliseconds, row } from "./report.mjs";

const cli = (app) => join(import.meta.dirname, "..", "apps", app, "dist", "cli.js");
const work = mkdtempSync(join(tmpdir(), "bench-cli-"));

/** A home with so many sessions, each with the summary a short run leaves. */
function makeHome(count) {
  const home = join(work, `home-${count}`);
  for (let i = 0; i < count; i++) {
    const at = Date.UTC(2026, 0, 1) + 1000 * i;
    const id = makeSessionId("otter", at);
    const directory = join(home, "eventlog", id);
    mkdirSync(directory, { recursive: true });
    const times = { started_at: new Date(at).toISOString(), ended_at: null };
    const prompt = "a prompt of usual length, as people write them";
    const figures = { success: true, cost_usd: i / 1e5, total_tokens: i, steps: 3, tool_calls_total: 2, turns: 1 };
    const summary = { session_id: id, run_id: id, ...times, model: "gpt-4o", prompt, ...figures };
    writeFileSync(join(directory, "summary.json"), JSON.stringify(summary));
  }
  return home;
}

function timed(args, home = work) {
  return milliseconds(() => {
    const { status } = spawnSync(process.execPath, args, { env: cleanEnv({ CHIMERA_HOME: home }), stdio: "ignore" });
    if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}`);
  });
}

try {
  const start = await interleave(
    {
      floor: () => timed(["-e", "0"]),
      otter: () => timed([cli("otter"), "--version"]),
      ferret: () => timed([cli("ferret"), "--version"]),
    },
    { runs: 20, warmup: 2 },
  );
  const floor = median(start.floor);
  row({ name: "otter --version against bare Node", ours: median(start.otter), floor, unit: "ms", target: 1.15 });
  row({ name: "ferret --version against bare Node", ours: median(start.ferret), floor, unit: "ms", target: 1.15 });

  const [few, many] = [makeHome(100), makeHome(10_000)];
  const list = [cli("otter"), "sessions", "list"];
  const lists = await interleave({ few: () => timed(list, few), many: () => timed(list, many) }, { runs: 10 });
  row({
    name: "sessions list, 10,000 sessions against 100",
    ours: median(lists.many),
    floor: median(lists.few),
    unit: "ms",
    target: 1.5,
  });
} finally {
  rmSync(work, { recursive: true, force: true });
}
