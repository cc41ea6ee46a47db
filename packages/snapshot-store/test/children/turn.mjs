// A turn that never ends: node turn.mjs STORE WORKSPACE; edits by tool and by command, then waits to be killed.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createSnapshotStore } from "../../dist/index.js";

const [root, cwd] = process.argv.slice(2);
const session = createSnapshotStore({ root }).session("otter-1", { cwd, directories: [] });
session.beginTurn(7);
await session.willWrite(`${cwd}/tool.txt`);
writeFileSync(`${cwd}/tool.txt`, "by tool");
await session.willRun();
execFileSync("sh", ["-c", "echo command > shell.txt; rm gone.txt; echo new > made.txt"], { cwd });
process.kill(process.pid, "SIGKILL");
