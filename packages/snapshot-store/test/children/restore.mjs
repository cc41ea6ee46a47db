// One undo or redo of turn 0 in a process of its own: node restore.mjs STORE WORKSPACE undo|redo. A file stands for the record in
// the log.
import { writeFileSync } from "node:fs";
import { createSnapshotStore } from "../../dist/index.js";

const [root, cwd, direction] = process.argv.slice(2);
const session = createSnapshotStore({ root }).session("otter-1", { cwd, directories: [] });
const { files, conflicts, keep } = await session.restore([0], direction, { after: 0 });
writeFileSync(`${root}/recorded`, "");
await keep();
console.log(JSON.stringify({ files, conflicts }));
