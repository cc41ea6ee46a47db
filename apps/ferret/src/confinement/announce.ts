/** A line of the log with the first turn: what confines commands here, or why they will be refused. */
import type { ExtensionContext } from "@chimera/host";
import { createSandbox, isSandboxError, SANDBOX_MODES, type SandboxOptions } from "@chimera/sandbox";

/** Looking starts some programs, and the first answer does not wait for them. */
const DELAY_MS = 300;

export function announceConfinement(options: Omit<SandboxOptions, "log">, log: ExtensionContext["log"]): void {
  if (options.osSandbox === "off" || !SANDBOX_MODES[options.mode].confined) return;
  setTimeout(() => void announce(options, log), DELAY_MS).unref();
}

// --- internal ---

async function announce(options: Omit<SandboxOptions, "log">, log: ExtensionContext["log"]): Promise<void> {
  try {
    const state = await createSandbox({ ...options, log: () => {} }).probe();
    if (state.available) log.info(`commands are confined by ${state.backend} ${state.version}`);
    else log.warn(`commands will be refused: ${state.error.message}; ${state.error.hint}`);
  } catch (error) {
    // Started in a directory that is no workspace; each session has its own and says so itself.
    if (!isSandboxError(error)) throw error;
  }
}
