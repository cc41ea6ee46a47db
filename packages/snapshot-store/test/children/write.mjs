// A write that is cut short: node write.mjs STORE WORKSPACE; leaves a draft beside the file it was for.
import { writeFileSync } from "node:fs";
import { draftName } from "../../dist/files.js";
import { createSnapshotStore } from "../../dist/index.js";

const [root, cwd] = process.argv.slice(2);
const session = createSnapshotStore({ root }).session("otter-1", { cwd, directories: [] });
session.beginTurn(7);
await session.willWrite(`${cwd}/src/tool.txt`);
writeFileSync(`${cwd}/src/${draftName()}`, "half of it");
process.kill(process.pid, "SIGKILL");
