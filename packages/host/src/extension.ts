/**
 * What a program adds to the engine it shares with the others: settings it starts with, a part in the agent, rows of the
 * protocol, slash commands. A profile lists its extensions; nothing else knows which program it is.
 */
import type { Extension } from "@chimera/acp-server";
import type { CodingAgentOptions } from "@chimera/agent/agents";
import type { Settings, SlashCommand } from "@chimera/session";
import type { FlagValues } from "./command/flag.js";
import type { ResolvedConfig } from "./config/resolve.js";
import type { Log } from "./log/log.js";
import type { Paths } from "./paths.js";

export interface ProgramExtension {
  readonly name: string;
  /** Throws a UsageError for flags that make no sense. Runs before `initialize` is answered: be light. */
  start(context: ExtensionContext): StartedExtension;
}

export interface ExtensionContext {
  readonly flags: FlagValues;
  /** Every setting, the profile's own among them. */
  readonly values: ResolvedConfig["values"];
  readonly cwd: string;
  readonly paths: Paths;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

export interface StartedExtension {
  /** Said on stderr before anything else happens. */
  readonly warnings?: readonly string[];
  /** Options that every session starts with. */
  readonly options?: Settings["options"];
  /** Directories that every session has besides its own. */
  readonly directories?: readonly string[];
  /** Its part in the protocol. */
  readonly protocol?: Extension;
  readonly commands?: readonly SlashCommand[];
  /** Its part in the agent; what is heavy is loaded here, with the engine. */
  agent?(): Promise<AgentParts>;
}

export type AgentParts = Pick<CodingAgentOptions, "confine" | "classify" | "narrow" | "mcpNetwork">;
