/** What makes a program: its name, its defaults and what it adds. otter and ferret differ in nothing else. */
import type { Chain } from "@chimera/agent/providers";
import type { Flags } from "./command/flag.js";
import type { ConfigKey } from "./config/keys.js";
import type { ProgramExtension } from "./extension.js";

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
  readonly chain: Chain;
  /** Settings of its extensions: rows like those that every program has, by their name in a config file. */
  readonly settings: Readonly<Record<string, ConfigKey<string>>>;
  /** Flags of its extensions besides settings; every command that starts sessions takes them. */
  readonly flags: Flags;
  /** Loaded by the commands that start sessions. */
  readonly extensions: () => Promise<readonly ProgramExtension[]>;
}

/** `OTTER_SERVER_TOKEN` and the like. */
export function envName(profile: Profile, suffix: string): string {
  return `${profile.name.toUpperCase()}_${suffix}`;
}
