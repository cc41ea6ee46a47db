// node two-commands.mjs STORE WORKSPACE; while one session's command is at work, another session's starts and ends. Then a crash.
import { execFileSync } from "node:child_process";
import { createSnapshotStore } from "../../dist/index.js";

const [root, cwd] = process.argv.slice(2);
const store = createSnapshotStore({ root });
const sh = (script) => execFileSync("sh", ["-c", script], { cwd });
const first = store.session("otter-1", { cwd, directories: [] });
first.beginTurn(0);
await first.willRun();
sh("echo first > a.txt; rm gone.txt");
const second = store.session("otter-2", { cwd, directories: [] });
second.beginTurn(0);
const done = await second.willRun();
sh("echo second > b.txt");
await done();
await second.endTurn();
process.kill(process.pid, "SIGKILL");
