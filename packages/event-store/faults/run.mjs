// Every fault, for real. `--smoke` runs the part that needs neither root nor strace. A fault that cannot run here fails.
import { claimChurn, claimStarters, frozenHolder } from "./claims.mjs";
import { bitFlips, tornTails, zeroedFiles } from "./damage.mjs";
import { killRounds } from "./kill.mjs";

const smoke = [
  () => tornTails({ offsets: 150 }),
  () => bitFlips({ flips: 150 }),
  () => zeroedFiles(),
  () => killRounds({ rounds: 6 }),
  () => claimChurn({ processes: 4, seconds: 3 }),
  () => claimStarters({ starters: 12 }),
];

async function whole() {
  const { disk } = await import("./disk.mjs");
  const { killAtCalls } = await import("./calls.mjs");
  return [
    () => tornTails({ offsets: 6000 }),
    () => bitFlips({ flips: 2000 }),
    () => zeroedFiles(),
    ...disk,
    () => killAtCalls({ upTo: 200 }),
    () => claimChurn({ processes: 8, seconds: 20 }),
    () => claimStarters({ starters: 100 }),
    () => frozenHolder(),
    () => killRounds({ rounds: 1000 }),
  ];
}

const isSmoke = process.argv.includes("--smoke");
let failed = 0;
for (const fault of isSmoke ? smoke : await whole()) {
  const started = Date.now();
  const { name, executed, expected, atLeast = false, failures } = await fault();
  const complete = atLeast ? executed >= expected : executed === expected;
  const ok = complete && failures.length === 0;
  if (!ok) failed++;
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(
    `${ok ? "ok  " : "FAIL"} ${name}: executed ${executed} of ${atLeast ? "at least " : ""}${expected}, ${failures.length} failures, ${seconds} s`,
  );
  for (const failure of failures.slice(0, 10)) console.log(`     ${failure}`);
}
console.log(failed === 0 ? "all faults survived" : `${failed} faults failed`);
process.exitCode = failed === 0 ? 0 : 1;
