// Preloaded into a program under test (NODE_OPTIONS=--import): writes down how long its main thread was busy without turning
// to anything else. Where the system tells it, only time on the processor counts, so that a loaded machine changes nothing.
import { appendFileSync, readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const WORTH_TELLING_MS = 20;

function busyMs() {
  try {
    const [nanoseconds] = readFileSync("/proc/self/schedstat", "latin1").split(" ");
    if (Number(nanoseconds) > 0) return Number(nanoseconds) / 1e6;
  } catch {
    // Not Linux.
  }
  return performance.now();
}

const file = process.env["CHIMERA_TEST_STALLS"];
if (isMainThread && file) {
  let last = busyMs();
  setInterval(() => {
    const now = busyMs();
    if (now - last > WORTH_TELLING_MS) appendFileSync(file, `${Date.now()} ${now - last}\n`);
    last = now;
  }, 1).unref();
}
