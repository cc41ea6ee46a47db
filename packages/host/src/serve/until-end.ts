/** When a server is to end: a signal, or a fault that nobody caught. */
import type { Log } from "../log/log.js";
import { endChildren } from "./end-children.js";
import type { TurnOwners } from "./turn-owners.js";

const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
const EXIT_FAULT = 70;

/**
 * Resolves with the exit code, 0 for a signal and 70 for a fault. A second signal ends the process at once. A rejection that
 * `owners` traces to a turn ends that turn alone.
 */
export function untilEnd(process: NodeJS.Process, log: Log, owners?: TurnOwners): Promise<number> {
  return new Promise((resolve) => {
    let asked = false;
    for (const name of Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]) {
      process.on(name, () => {
        if (asked) {
          endChildren(process);
          process.exit(128 + NUMBERS[name]);
        }
        asked = true;
        log.info("stopping", { signal: name });
        resolve(0);
      });
    }
    const fault = (error: unknown) => {
      log.error("a fault of our own; ending", { error: error instanceof Error ? error : String(error) });
      resolve(EXIT_FAULT);
    };
    // In place of the program's own, which would end without closing anything.
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", fault);
    process.on("unhandledRejection", (reason) => {
      const error = reason instanceof Error ? reason : new Error(String(reason));
      if (!owners?.fail(error)) return fault(error);
      log.error("a turn left a rejection to nobody, and is ended", { error });
    });
  });
}
