/** Connects the sandbox with the agent: confines processes, classifies commands, and checks calls. */
import { realpathSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { BrokenBounds, Confine, ConfineRequest } from "@chimera/agent";
import { acpTerminalTool, cleanEnvironment } from "@chimera/agent/tools";
import type { AgentParts, ExtensionContext } from "@chimera/host";
import {
  type CallPlace,
  type Classify,
  classifyCommand,
  type Policy,
  type PolicyCall,
  type PolicyDecision,
} from "@chimera/policy";
import {
  createSandbox,
  type FileAccessOptions,
  type FileUse,
  fileAccess,
  findDenial,
  findRepositories,
  isSandboxError,
  type OsSandbox,
  SANDBOX_MODES,
  type Sandbox,
  type SandboxMode,
  type SandboxOptions,
} from "@chimera/sandbox";
import { classify } from "@chimera/sandbox/classify";
import type { ProjectBounds } from "./settings.js";

export interface ConfinementOptions {
  /** The mode for the directory in which the program was started. */
  readonly mode: SandboxMode;
  readonly modeIn: ProjectBounds["sandbox"];
  readonly osSandbox: OsSandbox;
  readonly context: Pick<ExtensionContext, "env" | "paths" | "log" | "cwd" | "values">;
}

export function confinementParts({ mode, modeIn, osSandbox, context }: ConfinementOptions): AgentParts {
  const { env, paths, log, cwd, values } = context;
  const given = [values.auth_token_file, values.tls_key].filter((path) => path !== null);
  const secrets = [...paths.hidden, paths.permissions, ...given];
  const places = { modeIn, osSandbox, stateDir: paths.root, secrets };
  announceConfinement({ mode, osSandbox, workspace: { cwd }, stateDir: paths.root, env }, log);
  return {
    classify: classifyFirmly,
    confine: createConfine({ ...places, env: cleanEnvironment(env), log: (message) => log.warn(message) }),
    narrow: guardCalls({ ...places, readable: [paths.outputs] }),
    mcpNetwork: (cwd) => SANDBOX_MODES[modeIn(cwd)].network,
    // An editor's terminal cannot be confined. In a project with a stricter mode each of its calls is refused.
    ...(mode === "off" && { tools: [acpTerminalTool] }),
  };
}

// --- internal ---

/** Makes the classifier's `ask` apply in every mode, because the wall still allows much. */
const classifyFirmly: Classify = async (command, circumstances) => ({
  ...(await classifyCommand(command, circumstances)),
  isFirm: true,
});

/** Mode -> the same mode with the network; null if there is none. */
const NETWORKED: Readonly<Record<SandboxMode, SandboxMode | null>> = {
  "read-only": null,
  "workspace-write": "workspace-write-network",
  "workspace-write-network": "workspace-write-network",
  off: "off",
};
const NEEDS_NETWORK = "an engine's model is there; choose --sandbox workspace-write or the built-in engine";

/** Most sandboxes to keep, one per workspace. */
const MAX_KEPT = 32;

interface ConfineOptions extends Omit<SandboxOptions, "mode" | "workspace"> {
  readonly modeIn: ProjectBounds["sandbox"];
}

/** Confines commands and MCP servers, or refuses them with a remedy if that is not possible. */
function createConfine({ modeIn, ...options }: ConfineOptions): Confine {
  const kept = new Map<string, Sandbox>();
  const findPlanted = createFindPlanted();
  const sandboxFor = (mode: SandboxMode, workspace: ConfineRequest["workspace"]): Sandbox => {
    const { cwd, directories, own } = workspace;
    const key = JSON.stringify([mode, cwd, directories, own]);
    const known = kept.get(key);
    if (known) return known;
    const sandbox = createSandbox({ ...options, mode, workspace: { cwd, directories, ...(own && { own }) } });
    const oldest = kept.size < MAX_KEPT ? undefined : kept.keys().next().value;
    if (oldest !== undefined) kept.delete(oldest);
    kept.set(key, sandbox);
    return sandbox;
  };

  const refusesWrite = (mode: SandboxMode, workspace: ConfineRequest["workspace"]) => {
    const access = fileAccess({ ...options, mode, workspace });
    return (path: string) => access(realPath(path), "write") !== null;
  };

  return async ({ command, cwd, workspace, env, network = false }) => {
    const wanted = modeIn(workspace.cwd);
    const mode = network ? NETWORKED[wanted] : wanted;
    if (mode === null)
      return { refused: `blocked by sandbox mode ${wanted}, which has no network: ${NEEDS_NETWORK}`, mode: wanted };
    try {
      const confined = await sandboxFor(mode, workspace).confine(command, { cwd, ...(env && { env }) });
      const { stdio, env: clean, cwd: start } = confined.options;
      const [, , , ...descriptors] = stdio;
      const since = Date.now();
      return {
        file: confined.file,
        args: confined.args,
        cwd: start,
        env: clean,
        descriptors,
        release: confined.release,
        // Denials come second, because a command can print text that looks like one.
        violation: async (stderr, failed) =>
          (await findPlanted({ command, cwd, workspace, mode, since })) ??
          findDenial(stderr, { mode, failed, cwd, refuses: refusesWrite(mode, workspace) }),
        mode,
      };
    } catch (error) {
      if (!isSandboxError(error)) throw error;
      return { refused: `blocked by sandbox mode ${mode}: ${error.message}; ${error.hint}`, mode };
    }
  };
}

/** The path with the links resolved in the part that exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}

interface Finished extends Pick<ConfineRequest, "command" | "cwd" | "workspace"> {
  readonly mode: SandboxMode;
  /** Start of the command in epoch milliseconds. */
  readonly since: number;
}

/** Time limit of the search, which follows every command that may write. It starts near the roots, where people and editors run git. */
const MAX_MS = 250;

/**
 * Finds repositories in the workspace that run programs when git reads them, which the wall cannot prevent a command from making. Null
 * without one. Skips commands that only read, and reports a workspace that is too large to search once.
 */
function createFindPlanted() {
  const reported = new Set<string>();
  return async ({ command, cwd, workspace, mode, since }: Finished): Promise<BrokenBounds | null> => {
    const { confined, writes } = SANDBOX_MODES[mode];
    if (!confined || !writes || classify(command, { workspace, cwd }).decision === "allow") return null;
    let unsearched: BrokenBounds | null = null;
    for (const root of [workspace.cwd, ...workspace.directories]) {
      const { suspects, complete } = await findRepositories(root, { since, withinMs: MAX_MS });
      const [found] = suspects;
      if (found) {
        const place = relative(root, found.path) || ".";
        const reasons = found.reasons.join(", ");
        const reason = `it made ${place} a repository that runs programs when git looks at it: ${reasons}`;
        return { reason, path: found.path };
      }
      if (complete || reported.has(root)) continue;
      reported.add(root);
      unsearched = {
        reason: `${root} has more directories than can be searched after each command: a repository that runs programs, planted deep in it, would not be noticed`,
        path: root,
      };
    }
    return unsearched;
  };
}

/** Delay of the probe, which starts some programs, so that it does not slow the first answer down. */
const DELAY_MS = 300;

/** Logs during the first turn which backend confines commands, or why commands will be refused. */
function announceConfinement(options: Omit<SandboxOptions, "log">, log: ExtensionContext["log"]): void {
  if (options.osSandbox === "off" || !SANDBOX_MODES[options.mode].confined) return;
  setTimeout(() => void announce(options, log), DELAY_MS).unref();
}

async function announce(options: Omit<SandboxOptions, "log">, log: ExtensionContext["log"]): Promise<void> {
  try {
    const state = await createSandbox({ ...options, log: () => {} }).probe();
    if (state.available) log.info(`commands are confined by ${state.backend} ${state.version}`);
    else log.warn(`commands will be refused: ${state.error.message}; ${state.error.hint}`);
  } catch (error) {
    // The start directory cannot be a workspace. Each session has its own, and reports such an error itself.
    if (!isSandboxError(error)) throw error;
  }
}

interface GuardOptions extends Omit<FileAccessOptions, "mode" | "workspace"> {
  readonly modeIn: ProjectBounds["sandbox"];
  readonly osSandbox: OsSandbox;
}

/** Checks every call against the sandbox mode. A call that exceeds it is a violation, even if a rule or a person allows it. */
function guardCalls({ modeIn, ...options }: GuardOptions): (policy: Policy) => Policy {
  return (policy) => ({
    ...policy,
    decide: async (call, context) => {
      const mode = modeIn(context.workspace.cwd);
      const violation = findViolation(call, context, { ...options, mode });
      if (!violation) return policy.decide(call, context);
      const { why, ...place } = violation;
      return { decision: "deny", rule: `sandbox ${mode}`, why, risk: "high", violation: { mode, ...place } };
    },
  });
}

type Guard = Omit<GuardOptions, "modeIn"> & Pick<FileAccessOptions, "mode">;
type Violation = Pick<PolicyDecision, "why"> & { readonly path?: string; readonly command?: string };

function findViolation(call: PolicyCall, { workspace }: CallPlace, options: Guard): Violation | null {
  if (!SANDBOX_MODES[options.mode].confined) return null;
  const { tool, touches } = call;
  if (touches.command !== undefined) return commandViolation(call, touches.command, workspace, options);
  const refusal = fileAccess({ ...options, workspace });
  const uses: readonly [FileUse, readonly string[]][] = [
    ["write", touches.writes],
    [tool.kind === "search" ? "search" : "read", touches.reads],
  ];
  for (const [use, paths] of uses) {
    for (const path of paths) {
      const why = refusal(path, use);
      if (why !== null) return { path, why: `${tool.name} blocked: ${why}` };
    }
  }
  return null;
}

/** The violation of a command. The Bash tool is confined when it runs, but an editor's terminal, for example, cannot be. */
function commandViolation(
  { tool, touches }: PolicyCall,
  command: string,
  workspace: CallPlace["workspace"],
  { mode, osSandbox }: Guard,
): Violation | null {
  const blocked = `command blocked by sandbox mode ${mode}`;
  if (tool.name !== "Bash") return { command, why: `${blocked}: ${tool.name} runs outside of the sandbox; use Bash` };
  // Without the operating system's wall, only the text of the command can be judged.
  if (osSandbox !== "off" || SANDBOX_MODES[mode].writes) return null;
  const cwd = touches.reads[0];
  const { decision, reason } = classify(command, { workspace, ...(cwd !== undefined && { cwd }) });
  return decision === "allow" ? null : { command, why: `${blocked}: ${reason}` };
}
