/** Applies the config file of a session's directory: a model for new sessions, and limits on every turn. */
import { realpathSync } from "node:fs";
import { sep } from "node:path";
import { type Flags, MODE_FLAGS } from "@chimera/acp-schema/conversation";
import { orElse } from "@chimera/acp-schema/lenient";
import { type CreateOptions, SessionError, type TurnSettings } from "@chimera/session";
import { isUsageError } from "./command/usage-error.js";
import { type ConfigName, type ConfigValues, narrow } from "./config/keys.js";
import type { Config } from "./config/read-config.js";
import { type ResolvedConfig, settingOf } from "./config/resolve.js";
import type { Log } from "./log/log.js";

/** @param own a program's own approval flags, which replace those of `safety`. */
export function createProjectRules(config: Config, log: Log, own?: Flags) {
  const plain = config.under(null);
  const named = new Set(config.problems);
  const read = (cwd: string): ResolvedConfig => {
    const resolved = resolve(config, cwd);
    for (const problem of resolved.problems.filter((one) => !named.has(one))) {
      named.add(problem);
      log.warn(problem);
    }
    return resolved;
  };
  const requirePlace = createRequirePlace(config);
  return {
    /** Throws `forbidden_directory` for a directory whose real path is not below a root that the user named. */
    requirePlace,
    /** Completes a client's request for a new session with the project's settings; those of the client win. */
    admit(asked: CreateOptions) {
      const project = read(asked.cwd);
      const { model, save } = project.values;
      const isTheirs = settingOf(project, "model")?.layer === "project";
      return {
        ...asked,
        persist: save && asked.persist !== false,
        settings: { ...(isTheirs && model !== null && { model }), ...asked.settings },
      };
    },
    /** The approval flags of a new session in this directory; read-only when the project's file is not valid. */
    flags(cwd: string) {
      // The session still opens, so that it can be read and undone; its next turn reports what is wrong with the file.
      return orElse(() => startFlags(read(cwd), own), MODE_FLAGS["read-only"]);
    },
    /** The settings of a turn within the limits of its project, whether the session was made or loaded. */
    bound(settings: TurnSettings, cwd: string): TurnSettings {
      // A link may lead to another directory since the session was opened.
      requirePlace([cwd]);
      const project = read(cwd);
      return project === plain ? settings : { ...settings, ...limitsOf(project, settings) };
    },
  };
}

// --- internal ---

/** Checks the directories of a caller. Those that the user gave every session (`--add-dir`) are not checked. */
function createRequirePlace({ values }: Config): (directories: readonly string[]) => void {
  const roots = values.workspace_root.map((root) => realOf(root) ?? root);
  if (roots.length === 0) return () => {};
  const isBelow = (path: string) => roots.some((root) => path === root || path.startsWith(root.replace(/\/*$/, sep)));
  return (directories) => {
    for (const directory of directories) {
      const real = realOf(directory);
      if (real !== null && isBelow(real)) continue;
      const reason = `sessions may run in ${roots.join(", ")} only, and ${directory} is elsewhere: see --workspace-root`;
      throw new SessionError("forbidden_directory", reason);
    }
  };
}

function realOf(path: string): string | null {
  return orElse(() => realpathSync(path), null);
}

/** A mode from a flag or the environment applies unchanged; one from the user's file can only narrow what `safety` allows. */
function startFlags(config: ResolvedConfig, own: Flags | undefined): Flags {
  const { mode } = config.values;
  const allowed = safetyFlags(config.values, own);
  if (mode === null) return allowed;
  const wanted = MODE_FLAGS[mode];
  if (settingOf(config, "mode")?.layer !== "user") return wanted;
  if (wanted.readOnly || allowed.readOnly) return MODE_FLAGS["read-only"];
  return {
    autoApproveWrites: wanted.autoApproveWrites && allowed.autoApproveWrites,
    autoApproveExecute: wanted.autoApproveExecute && allowed.autoApproveExecute,
    readOnly: false,
  };
}

/** Read-only wins: with it nothing is approved in advance, whatever the other two settings are. */
function safetyFlags(values: ConfigValues, own: Flags | undefined): Flags {
  if (values["safety.read_only"]) return MODE_FLAGS["read-only"];
  return (
    own ?? {
      autoApproveWrites: !values["safety.require_approval_for_writes"],
      autoApproveExecute: !values["safety.require_approval_for_execute"],
      readOnly: false,
    }
  );
}

function resolve(config: Config, cwd: string): ResolvedConfig {
  try {
    return config.under(cwd);
  } catch (error) {
    if (isUsageError(error)) throw new SessionError("invalid_setting", error.message, { cause: error });
    throw error;
  }
}

function limitsOf(project: ResolvedConfig, turn: TurnSettings): Partial<TurnSettings> {
  const within = <Name extends ConfigName>(name: Name, ours: ConfigValues[Name]): ConfigValues[Name] => {
    const limit = settingOf(project, name)?.limit;
    return limit === undefined ? ours : narrow(name, ours, limit as ConfigValues[Name]);
  };
  return {
    maxSteps: within("max_steps", turn.maxSteps),
    maxCostUsd: within("max_cost", turn.maxCostUsd),
    allowedTools: within("allowed_tools", turn.allowedTools),
  };
}
