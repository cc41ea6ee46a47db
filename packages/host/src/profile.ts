/** What makes a program: its name, its defaults and what it adds. otter and ferret differ in nothing else. */
import type { Extension } from "@chimera/acp-server";
import type { Chain } from "@chimera/agent/providers";

export interface Profile {
  /** The command's name, and the prefix of its session ids. */
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly tagline: string;
  readonly defaultTransport: "http" | "acp";
  /** The native ACP dialect and the version it names itself by. */
  readonly native: { readonly name: "otter" | "ferret"; readonly version: string };
  /** The order in which model keys are looked for when no model is named. */
  readonly chain: () => Promise<Chain>;
  /** Loaded with the engine, not at start. */
  readonly extensions: () => Promise<readonly Extension[]>;
}

/** `OTTER_SERVER_TOKEN` and the like. */
export function envName(profile: Profile, suffix: string): string {
  return `${profile.name.toUpperCase()}_${suffix}`;
}
