// One undo or redo in a process of its own: node restore.mjs STORE WORKSPACE undo|redo|recover
import { createSnapshotStore } from "../../dist/index.js";

const [root, cwd, what] = process.argv.slice(2);
const store = createSnapshotStore({ root });
const session = store.session("otter-1", { cwd, directories: [] });
const report = what === "recover" ? await session.depth() : await session[what]();
console.log(JSON.stringify(report));
