/** The sandbox as the agent meets it: bounds for processes, a judgement of commands, a wall in front of calls. */
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
  /** Of the directory the program was started in. */
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
    // An editor's terminal cannot be confined; where a project wants less, each of its calls is refused.
    ...(mode === "off" && { tools: [acpTerminalTool] }),
  };
}

// --- internal ---

/** Behind a wall that lets much through, a command that is not known to read is asked about in every mode. */
const classifyFirmly: Classify = async (command, circumstances) => ({
  ...(await classifyCommand(command, circumstances)),
  isFirm: true,
});

/** Mode -> the one that is like it, with the network; null where there is none. */
const NETWORKED: Readonly<Record<SandboxMode, SandboxMode | null>> = {
  "read-only": null,
  "workspace-write": "workspace-write-network",
  "workspace-write-network": "workspace-write-network",
  off: "off",
};
const NEEDS_NETWORK = "an engine's model is there; choose --sandbox workspace-write or the built-in engine";

/** Workspaces whose sandbox is kept. */
const MAX_KEPT = 32;

interface ConfineOptions extends Omit<SandboxOptions, "mode" | "workspace"> {
  readonly modeIn: ProjectBounds["sandbox"];
}

/** Commands and MCP servers inside the operating system's wall; where none can be had they are refused, with the way out. */
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
        // A command can write what looks like a denial, so that comes second.
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

/** With its links followed as far as it exists. */
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
  /** When it was started, in milliseconds of the epoch. */
  readonly since: number;
}

/** Every command that may write pays for the search, which begins near the roots, where people and editors run git. */
const MAX_MS = 250;

/**
 * Finds what the wall cannot stop: a command that may write the workspace makes a repository there that runs programs when git looks
 * at it. Null when there is none. A command that only reads is not looked into; a workspace too large to be searched is reported once.
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
        reason: `${root} holds more directories than can be searched after each command: a repository that runs programs, planted deep in it, would not be noticed`,
        path: root,
      };
    }
    return unsearched;
  };
}

/** Looking starts some programs, and the first answer does not wait for them. */
const DELAY_MS = 300;

/** Logs with the first turn what confines commands here, or why they will be refused. */
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
    // Started in a directory that cannot be a workspace; each session has its own and says so itself.
    if (!isSandboxError(error)) throw error;
  }
}

interface GuardOptions extends Omit<FileAccessOptions, "mode" | "workspace"> {
  readonly modeIn: ProjectBounds["sandbox"];
  readonly osSandbox: OsSandbox;
}

/** The sandbox mode as a wall in front of every call: one that would leave it is a violation, even if a rule or a person allowed it. */
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

/** The shell tool is confined when it runs. Another's process, an editor's terminal for one, cannot be. */
function commandViolation(
  { tool, touches }: PolicyCall,
  command: string,
  workspace: CallPlace["workspace"],
  { mode, osSandbox }: Guard,
): Violation | null {
  const blocked = `command blocked by sandbox mode ${mode}`;
  if (tool.name !== "Bash") return { command, why: `${blocked}: ${tool.name} runs outside of the sandbox; use Bash` };
  // Without the operating system's wall the text is all there is to go by.
  if (osSandbox !== "off" || SANDBOX_MODES[mode].writes) return null;
  const cwd = touches.reads[0];
  const { decision, reason } = classify(command, { workspace, ...(cwd !== undefined && { cwd }) });
  return decision === "allow" ? null : { command, why: `${blocked}: ${reason}` };
}
