// One competitor for a pidfile: takes it, checks that no living process also has it, and lets go or dies with it.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { writePidfile } from "@chimera/host/pidfile";

const [directory, witness, rounds] = process.argv.slice(2);

for (let round = 0; round < Number(rounds); round++) {
  const pidfile = await writePidfile({ directory, prefix: "race", port: 7000, host: "127.0.0.1" }).catch((error) => {
    if (error.code !== "already_running") throw error;
    return null;
  });
  if (pidfile) {
    console.log(isHeldByAnother() ? "VIOLATION" : "owned");
    writeFileSync(witness, String(process.pid));
    await pause();
    if (Math.random() < 0.1) process.kill(process.pid, "SIGKILL");
    rmSync(witness, { force: true });
    pidfile.remove();
  }
  await pause();
}

function isHeldByAnother() {
  try {
    const stat = readFileSync(`/proc/${Number(readFileSync(witness, "utf8"))}/stat`, "latin1");
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}

function pause() {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
}
