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
