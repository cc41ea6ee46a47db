import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("serves a small load: readers, stalled peers, reconnects, short visits, slow headers and a restart", {
  timeout: 60_000,
}, () => {
  const script = join(import.meta.dirname, "load", "load.mjs");
  const scale = [
    "--clients",
    "20",
    "--stalled",
    "0",
    "--mib",
    "2",
    "--reconnects",
    "60",
    "--visits",
    "300",
    "--slow",
    "100",
    "--held",
    "12",
    "--p99",
    "5000",
  ];
  const said = execFileSync(process.execPath, [script, ...scale], { encoding: "utf8", timeout: 55_000 });
  expect(said.trim().split("\n")).toHaveLength(6);
});
