// A home of many sessions, each with the summary that a short run leaves.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeSessionId } from "../packages/event-store/dist/index.js";

export function makeSessions(home, count) {
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
