// What a person types, as whole processes: `--version` against bare Node, and a list of many sessions against one of few.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeSessions } from "./many-sessions.mjs";
import { cleanEnv, interleave, median, milliseconds, row } from "./report.mjs";

const cli = (app) => join(import.meta.dirname, "..", "apps", app, "dist", "cli.js");
const work = mkdtempSync(join(tmpdir(), "bench-cli-"));

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

  const [few, many] = [100, 10_000].map((count) => makeSessions(join(work, `home-${count}`), count));
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
