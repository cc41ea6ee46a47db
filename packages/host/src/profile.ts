/** What makes a program: its name, its defaults and what it adds. otter and ferret differ in nothing else. */
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
  /** The dialects of ACP that it speaks by name, its own first. */
  readonly dialects: readonly [Dialect, ...Dialect[]];
  /** The order in which model keys are looked for when no model is named. */
  readonly chain: Chain;
  /** Settings of its extensions: rows like those that every program has, by their name in a config file. */
  readonly settings: Readonly<Record<string, ConfigKey<string>>>;
  /** Flags of its extensions besides settings; every command that starts sessions takes them. */
  readonly flags: Flags;
  /** The files of the page that its HTTP server shows to browsers, loaded when one asks. @defaultValue it has no page */
  readonly page?: () => Promise<readonly PageFile[]>;
  /** Started by the commands that start sessions. */
  readonly extensions: readonly ProgramExtension[];
}

/** `OTTER_SERVER_TOKEN` and the like. */
export function envName(profile: Profile, suffix: string): string {
  return `${profile.name.toUpperCase()}_${suffix}`;
}

/** What a program adds to the core: settings, a part in the agent, rows of the protocol, slash commands. */
export interface ProgramExtension {
  readonly name: string;
  /** Throws a UsageError for flags that make no sense. Runs before `initialize` is answered: be light. */
  start(context: ExtensionContext): StartedExtension;
}

export interface ExtensionContext {
  readonly flags: FlagValues;
  /** Every setting, the profile's own among them. */
  readonly values: ResolvedConfig["values"];
  /** The same in the directory of a session, narrowed by its project; null ignores every project. */
  under(cwd: string | null): ResolvedConfig;
  readonly cwd: string;
  readonly paths: Paths;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

export interface StartedExtension {
  /** Said on stderr before anything else happens. */
  readonly warnings?: readonly string[];
  /** Why HTTP requests must carry a token: one is made where none is set. */
  readonly needsToken?: string;
  /** Options that every session starts with. */
  readonly options?: Settings["options"];
  /** The values of those options from the strictest on: a session that is loaded keeps the stricter of its log and of these. */
  readonly orders?: OptionOrders;
  /** The approval flags that a session opens with where nobody names a mode, in place of those of `safety`. */
  readonly flags?: ApprovalFlags;
  /** Directories that every session has besides its own. */
  readonly directories?: readonly string[];
  readonly protocol?: Extension;
  readonly commands?: readonly SlashCommand[];
  /** Its part in the agent; what is heavy is loaded here, with the core. */
  agent?(): Promise<AgentParts>;
  /** Called with every session that is loaded. */
  onLoad?(session: OwnedSession, program: ServingProgram): void;
  /** Called when one was unloaded, and waited for: what was started for it ends here. */
  onUnload?(sessionId: string): Promise<void>;
}

/** What a transport of an extension is made of. */
export interface ServingProgram {
  /** How to serve ACP as this program does, on any channel. */
  acp(): Promise<(peer: AcpPeer) => AcpServer>;
  /** Adds an approver to the session, until it is detached. */
  attach(): { detach(): void };
}

/** The other end of an ACP connection. */
export type AcpPeer = Pick<AcpServerOptions, "channel" | "origin" | "remote" | "transport">;

export interface AgentParts extends Pick<CodingAgentOptions, "confine" | "mcpNetwork" | "tools"> {
  /** Judges command lines, for the rules of every engine. @defaultValue `classifyCommand` of `@chimera/policy` */
  readonly classify?: Classify;
  /** The last word on permissions, for presets that narrow what the rules say. */
  readonly narrow?: (policy: Policy) => Policy;
}
