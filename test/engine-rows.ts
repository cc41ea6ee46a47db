// A home whose configuration names the scripted ACP agent as an engine, and what runs of it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AtEnd } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";

export const SCRIPTED = join(repositoryRoot, "packages", "acp-engine", "test", "scripted-agent.mjs");

export interface ScriptedHome {
  readonly home: string;
  /** Where the agent keeps its sessions. */
  readonly state: string;
}

/** `env` is the agent's own; `state` may lie where a sandbox sees it. */
export function scriptedHome(
  env: Record<string, string> = {},
  { atEnd, state = scratchTree({}, atEnd) }: { readonly atEnd?: AtEnd; readonly state?: string } = {},
): ScriptedHome {
  const row = { command: process.execPath, args: [SCRIPTED], env: { SCRIPTED_STATE: state, ...env }, state };
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
        return (
          environment!.includes(`SCRIPTED_STATE=${state}`) && command!.startsWith(`${process.execPath}\0${SCRIPTED}`)
        );
      } catch {
        return false;
      }
    });
}
