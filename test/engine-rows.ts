// A home whose configuration names the scripted ACP agent as an engine, and what runs of it.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { AtEnd } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";

export const SCRIPTED = join(repositoryRoot, "packages", "acp-engine", "test", "scripted-agent.mjs");

export interface ScriptedHome {
  readonly home: string;
  /** Where the agent keeps its sessions. */
  readonly state: string;
}

interface Places {
  readonly atEnd?: AtEnd;
  /** Where the agent keeps its sessions, and its program: both must lie where a sandbox sees them. */
  readonly state?: string;
  readonly program?: string;
}

/** `env` is the agent's own. */
export function scriptedHome(
  env: Record<string, string> = {},
  { atEnd, state = scratchTree({}, atEnd), program = SCRIPTED }: Places = {},
): ScriptedHome {
  const row = { command: process.execPath, args: [program], env: { SCRIPTED_STATE: state, ...env }, state };
  const config = { engine: "scripted", engines: { scripted: row } };
  return { home: scratchTree({ "config.json": config }, atEnd), state };
}

/** The processes of the agent that keeps its sessions there. */
export function running(state: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [environment, command] = ["environ", "cmdline"].map((name) =>
          readFileSync(`/proc/${pid}/${name}`, "utf8"),
        );
        const [runtime, script] = command!.split("\0");
        return (
          environment!.includes(`SCRIPTED_STATE=${state}`) &&
          runtime === process.execPath &&
          basename(script ?? "") === basename(SCRIPTED)
        );
      } catch {
        return false;
      }
    });
}
