import { SandboxError } from "./errors.js";

/** What each mode allows a command. No other code decides that. */
export const SANDBOX_MODES = {
  "read-only": { confined: true, writes: false, network: false },
  "workspace-write": { confined: true, writes: true, network: false },
  "workspace-write-network": { confined: true, writes: true, network: true },
  off: { confined: false, writes: true, network: true },
} as const satisfies Record<string, { confined: boolean; writes: boolean; network: boolean }>;

export type SandboxMode = keyof typeof SANDBOX_MODES;

/** The mode if none is chosen. */
export const DEFAULT_SANDBOX_MODE: SandboxMode = "read-only";

/** Parses a mode that a person typed, in any case and with `_` or `-`. Throws `invalid_mode`. */
export function parseSandboxMode(text: string): SandboxMode {
  const mode = text.trim().toLowerCase().replaceAll("_", "-");
  if (Object.hasOwn(SANDBOX_MODES, mode)) return mode as SandboxMode;
  throw new SandboxError(
    "invalid_mode",
    `unknown sandbox mode ${JSON.stringify(text)}`,
    `use one of ${Object.keys(SANDBOX_MODES).join(", ")}`,
  );
}
