// What confinement costs beside bubblewrap alone, how fast commands are judged, and what the search after them costs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { classify } from "../packages/sandbox/dist/classify.js";
import { createSandbox, findRepositories } from "../packages/sandbox/dist/index.js";
import { interleave, median, milliseconds, row } from "./report.mjs";

const base = mkdtempSync(join(tmpdir(), "bench-sandbox-"));
const workspace = { cwd: join(base, "project") };
const stateDir = join(base, "state");
for (const directory of [stateDir, join(workspace.cwd, ".git/hooks")]) mkdirSync(directory, { recursive: true });
for (const [file, text] of [
  ["HEAD", "ref: refs/heads/main\n"],
  ["config", "[core]\n\tbare = false\n"],
  ["hooks/pre-push.sample", "#!/bin/sh\n"],
])
  writeFileSync(join(workspace.cwd, ".git", file), text);
const options = { osSandbox: "auto", workspace, stateDir, env: process.env, log() {} };

/** A PATH with these programs alone, so that nothing else is found to confine with; a command would not see it below /tmp. */
const alone = mkdtempSync(join(homedir(), ".bench-sandbox-"));
function pathWith(name, programs) {
  const directory = join(alone, name);
  mkdirSync(directory);
  const places = (process.env.PATH ?? "").split(":");
  for (const program of programs) {
    const found = places.map((place) => join(place, program)).find((file) => existsSync(file));
    if (found) symlinkSync(found, join(directory, program));
  }
  return directory;
}
const PATHS = {
  bubblewrap: pathWith("bubblewrap", ["bwrap"]),
  "util-linux": pathWith("util-linux", ["unshare", "setpriv", "mount", "umount", "mkdir", "cp", "env"]),
};
const sandboxOf = (confinement, mode) =>
  createSandbox({ ...options, mode, env: { ...process.env, PATH: PATHS[confinement] } });

/** The sandbox of a small repository, made once; measured is one command from asking how to run it to its end. */
function runner(confinement, mode) {
  const sandbox = sandboxOf(confinement, mode);
  return () =>
    milliseconds(async () => {
      const command = await sandbox.confine("true");
      await once(spawn(command.file, command.args, command.options), "close");
      command.release();
    });
}

/** bubblewrap alone: all namespaces, nothing protected, nothing hidden, no filter; spawned as a confined command is. */
function bare() {
  const flags = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all"];
  const env = { PATH: process.env.PATH };
  const args = [...flags, "/bin/bash", "-c", "true"];
  return milliseconds(() =>
    once(spawn("bwrap", args, { env, stdio: ["ignore", "pipe", "pipe"], detached: true }), "close"),
  );
}

const bubblewrap = await sandboxOf("bubblewrap", "read-only").probe();
if (bubblewrap.available) {
  const samples = await interleave(
    { bare, reading: runner("bubblewrap", "read-only"), writing: runner("bubblewrap", "workspace-write") },
    { runs: 50, warmup: 3 },
  );
  const floor = median(samples.bare);
  row({ name: "confined true, read-only", ours: median(samples.reading), floor, unit: "ms", target: 1.5 });
  row({ name: "confined true, workspace-write", ours: median(samples.writing), floor, unit: "ms", target: 1.5 });
} else {
  console.log(`confined true | not measured: ${bubblewrap.error.message} | - | - | 1.5x`);
}

// Without bubblewrap: a dozen small programs in place of one, so it is held to what a person does not notice.
const utilLinux = await sandboxOf("util-linux", "read-only").probe();
if (utilLinux.available) {
  const { reading, writing } = await interleave(
    { reading: runner("util-linux", "read-only"), writing: runner("util-linux", "workspace-write") },
    { runs: 50, warmup: 3 },
  );
  row({ name: "confined true by util-linux, read-only", ours: median(reading), unit: "ms", target: "77 ms" });
  row({ name: "confined true by util-linux, workspace-write", ours: median(writing), unit: "ms", target: "77 ms" });
} else {
  console.log(`confined true by util-linux | not measured: ${utilLinux.error.message} | - | - | 77 ms`);
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

/** After a command that may write, its workspace is searched for repositories that run programs. */
async function search(name, target, plant) {
  const root = join(base, name);
  const place = (path, text) => {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (let index = 0; index < 2000; index++) plant(place, index);
  const { took } = await interleave({ took: () => milliseconds(() => findRepositories(root)) }, { runs: 7, warmup: 2 });
  row({ name: `search ${name}`, ours: median(took), unit: "ms", target });
}
await search("2,000 directories with 20,000 files", "100 ms", (place, index) => {
  for (let file = 0; file < 10; file++) place(`part-${index % 40}/${index}/${file}.ts`, "");
});
await search("200 repositories", "100 ms", (place, index) => {
  const repository = `part-${index % 20}/${index % 200}/.git`;
  place(`${repository}/objects/${index}/object`, "");
  place(`${repository}/refs/heads/main`, "");
  place(`${repository}/HEAD`, "ref: refs/heads/main\n");
  place(`${repository}/config`, "[core]\n\tbare = false\n");
});

for (const directory of [base, alone]) rmSync(directory, { recursive: true, force: true });
