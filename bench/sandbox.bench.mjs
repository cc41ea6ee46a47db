// What confinement costs beside bubblewrap alone, and how fast commands are judged.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { classify } from "../packages/sandbox/dist/classify.js";
import { createSandbox } from "../packages/sandbox/dist/index.js";
import { interleave, median, milliseconds, row } from "./report.mjs";

const workspace = { cwd: mkdtempSync(join(tmpdir(), "bench-sandbox-")) };
const options = { osSandbox: "auto", workspace, stateDir: join(workspace.cwd, ".state"), env: process.env, log() {} };
const env = { PATH: process.env.PATH };

/** A sandbox is made once; only the command itself is measured. */
function runner(mode) {
  const sandbox = createSandbox({ ...options, mode });
  return () =>
    milliseconds(async () => {
      const command = await sandbox.confine("true");
      await once(spawn(command.file, command.args, command.options), "close");
      command.release();
    });
}

const bare = (...flags) => {
  const args = ["--ro-bind", "/", "/", ...flags, "/bin/bash", "-c", "true"];
  return () => milliseconds(() => once(spawn("bwrap", args, { env, stdio: ["ignore", "pipe", "pipe"] }), "close"));
};

const state = await createSandbox({ ...options, mode: "read-only" }).probe();
if (state.available) {
  const samples = await interleave(
    {
      bare: bare("--dev", "/dev", "--proc", "/proc", "--unshare-all"),
      reading: runner("read-only"),
      writing: runner("workspace-write"),
    },
    { runs: 30, warmup: 3 },
  );
  const floor = median(samples.bare);
  row({ name: "confined true, read-only", ours: median(samples.reading), floor, unit: "ms", target: 1.5 });
  row({ name: "confined true, workspace-write", ours: median(samples.writing), floor, unit: "ms", target: 1.5 });
} else {
  console.log(`confined true | not measured: ${state.error.message} | - | - | 1.5x`);
}

const ordinary = [
  "ls -la src",
  "git status --short",
  "cat package.json | head -20",
  "find . -name '*.ts' -not -path './node_modules/*'",
  "npm test && git commit -m 'x'",
  'for f in *.ts; do wc -l "$f"; done',
];
const judge = (command) => classify(command, { workspace });
const loaded = performance.now();
judge("ls");
row({ name: "first judgement", ours: performance.now() - loaded, unit: "ms", target: "100 ms" });
const { each } = await interleave(
  {
    each: () =>
      milliseconds(() => {
        for (let round = 0; round < 50; round++) for (const command of ordinary) judge(command);
      }),
  },
  { runs: 10, warmup: 2 },
);
row({ name: "judge an ordinary command", ours: median(each) / (50 * ordinary.length), unit: "ms", target: "5 ms" });
const hostile = [
  `echo ${'"$('.repeat(28)}`,
  `ls ${"x".repeat(16_000)}`,
  "\\".repeat(16_000),
  `cat ${"../".repeat(5000)}`,
];
const worst = Math.max(...(await Promise.all(hostile.map((command) => milliseconds(() => judge(command))))));
row({ name: "judge the worst of four hostile commands", ours: worst, unit: "ms", target: "100 ms" });

rmSync(workspace.cwd, { recursive: true, force: true });
