/** Wraps a command: an expected failure becomes one line on stderr and an exit code. A bug is thrown unchanged. */
import type { Invocation, RunCommand } from "@chimera/host";
import { plain } from "./terminal/text.js";

export function reported(run: RunCommand): RunCommand {
  return async (invocation) => {
    endQuietly(invocation);
    try {
      return await run(invocation);
    } catch (error) {
      // Imported on demand, because it loads the errors of all lower packages.
      const { adviceOn, exitCodeOf } = await import("./exit-code.js");
      const code = exitCodeOf(error);
      if (code === null) throw error;
      complain(invocation, `${(error as Error).message}${adviceOn(error, invocation.profile)}`);
      return code;
    }
  };
}

/** `otter sessions: there is no session x`, on stderr. */
export function complain({ where, process }: Invocation, message: string): void {
  process.stderr.write(`${where}: ${plain(message)}\n`);
}

// --- internal ---

/** Ends without an error when a reader such as `… | head -1` closes the pipe early. */
function endQuietly({ process }: Invocation): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    // The terminal was closed. SIGHUP then ends the program after the end of the turn was recorded.
    if (error.code === "EIO") return;
    throw error;
  });
}
