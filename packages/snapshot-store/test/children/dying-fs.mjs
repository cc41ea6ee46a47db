// Preloaded into a child: at the Nth call that changes the file system the process is killed, or the call fails. With DIE_ON only
// calls count that name a path with this end.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const names = (process.env.DIE_IN ?? "renameSync").split(",");
const at = Number(process.env.DIE_AT ?? 0);
const failAt = Number(process.env.FAIL_AT ?? 0);
const end = process.env.DIE_ON ?? "";
let calls = 0;
for (const name of names) {
  const real = fs[name];
  fs[name] = (...args) => {
    if (!args.some((arg) => String(arg).endsWith(end))) return real(...args);
    calls += 1;
    if (calls === at) process.kill(process.pid, "SIGKILL");
    if (calls === failAt) throw Object.assign(new Error("EIO: injected"), { code: "EIO" });
    return real(...args);
  };
}
syncBuiltinESMExports();
process.on("exit", () => fs.writeSync(1, `calls ${calls}\n`));
