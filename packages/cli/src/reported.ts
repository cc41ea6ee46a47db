/** Wraps a command: an expected failure becomes one line on stderr and an exit code, a bug in this program is thrown on unchanged. */
import type { Invocation, RunCommand } from "@chimera/host";
import { plain } from "./terminal/text.js";

export function reported(run: RunCommand): RunCommand {
  return async (invocation) => {
    endQuietly(invocation);
    try {
      return await run(invocation);
    } catch (error) {
      // Knows the errors of every package below, which a command that succeeds need not load.
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

/** `… | head -1` closes the pipe early: this is not an error. */
function endQuietly({ process }: Invocation): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    // The terminal is gone. The signal that says so ends the program, with the turn's end written down.
    if (error.code === "EIO") return;
    throw error;
  });
}
