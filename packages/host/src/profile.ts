/** What makes a program: its name, its defaults and its extensions. otter and ferret differ in nothing else. */
import type { Flags as ApprovalFlags } from "@chimera/acp-schema/conversation";
import type { AcpServer, AcpServerOptions, Dialect, Extension } from "@chimera/acp-server";
import type { CodingAgentOptions } from "@chimera/agent/agents";
import type { Chain } from "@chimera/agent/providers";
import type { PageFile } from "@chimera/http-server";
import type { Classify, Policy } from "@chimera/policy";
import type { OptionOrders, OwnedSession, Settings, SlashCommand } from "@chimera/session";
import type { Flags, FlagValues } from "./command/flag.js";
import type { ConfigKey } from "./config/keys.js";
import type { ResolvedConfig } from "./config/resolve.js";
import type { Log } from "./log/log.js";
import type { Paths } from "./paths.js";

export interface Profile {
  /** The command's name, and the prefix of its session ids. */
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly tagline: string;
  readonly defaultTransport: "http" | "acp";
  /** The flag that permits writes and commands, for advice to a person. */
  readonly permitFlag: string;
  /** The dialects of ACP that it speaks by name, its own first. */
  readonly dialects: readonly [Dialect, ...Dialect[]];
  /** The order in which model keys are looked for when no model is named. */
  readonly chain: Chain;
  /** The settings of its extensions, by their name in a config file: rows like those that every program has. */
  readonly settings: Readonly<Record<string, ConfigKey<string>>>;
  /** The flags of its extensions that are not settings. Every command that starts sessions takes them. */
  readonly flags: Flags;
  /** The files of the page that its HTTP server shows to browsers, loaded on the first request. @defaultValue no page */
  readonly page?: () => Promise<readonly PageFile[]>;
  /** The extensions, which every command that starts sessions starts. */
  readonly extensions: readonly ProgramExtension[];
}

/** `OTTER_SERVER_TOKEN` and the like. */
export function envName(profile: Profile, suffix: string): string {
  return `${profile.name.toUpperCase()}_${suffix}`;
}

/** A program's addition to the core: settings, parts of the agent, rows of the protocol, slash commands. */
export interface ProgramExtension {
  readonly name: string;
  /** Throws a UsageError for invalid flags. It runs before `initialize` is answered, so it must be fast. */
  start(context: ExtensionContext): StartedExtension;
}

export interface ExtensionContext {
  readonly flags: FlagValues;
  /** Every setting, including the profile's own. */
  readonly values: ResolvedConfig["values"];
  /** The settings in a session's directory, narrowed by its project; null ignores every project. */
  under(cwd: string | null): ResolvedConfig;
  readonly cwd: string;
  readonly paths: Paths;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

export interface StartedExtension {
  /** Printed on stderr before anything else happens. */
  readonly warnings?: readonly string[];
  /** Why HTTP requests must carry a token. The server then makes one if none is set. */
  readonly needsToken?: string;
  /** The first options of every session. */
  readonly options?: Settings["options"];
  /** The values of those options, the strictest first: a loaded session gets the stricter of its logged value and the option here. */
  readonly orders?: OptionOrders;
  /** The approval flags of a new session when no mode is named; they replace those of `safety`. */
  readonly flags?: ApprovalFlags;
  /** Directories that every session has besides its own. */
  readonly directories?: readonly string[];
  readonly protocol?: Extension;
  readonly commands?: readonly SlashCommand[];
  /** Its parts of the agent. Load heavy code here, with the core. */
  agent?(): Promise<AgentParts>;
  /** Called with every loaded session. */
  onLoad?(session: OwnedSession, program: ServingProgram): void;
  /** Called when a session was unloaded, and awaited: end here what was started for it. */
  onUnload?(sessionId: string): Promise<void>;
}

/** What an extension needs to make a transport. */
export interface ServingProgram {
  /** Returns a function that serves ACP as this program does, on any channel. */
  acp(): Promise<(peer: AcpPeer) => AcpServer>;
  /** Adds an approver to the session, until it is detached. */
  attach(): { detach(): void };
}

/** The other end of an ACP connection. */
export type AcpPeer = Pick<AcpServerOptions, "channel" | "origin" | "remote" | "transport">;

export interface AgentParts extends Pick<CodingAgentOptions, "confine" | "mcpNetwork" | "tools"> {
  /** Judges command lines, for the rules of every engine. @defaultValue `classifyCommand` of `@chimera/policy` */
  readonly classify?: Classify;
  /** Makes the final policy: presets use it to narrow what the rules allow. */
  readonly narrow?: (policy: Policy) => Policy;
}
