/** The ways to confine on this machine, each found separately. Decides which of them tests can use. */
import { accessSync, chmodSync, constants, existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import { CONFINEMENTS } from "../src/confine/linux.js";
import { findProgram } from "../src/confine/programs.js";

export interface Confinement {
  readonly name: string;
  /** A `PATH` with only the programs of this confinement. */
  readonly path: string;
  /** Tags of the tests that use it. */
  readonly tags: string[];
}

const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/** A `PATH` for commands, because the one of the tests may have directories that commands cannot see. */
export const COMMAND_PATH = `${dirname(process.execPath)}:${SYSTEM_PATH}`;

const TAGS: Readonly<Record<string, string[]>> = { bubblewrap: ["needs-bwrap"], "util-linux": ["needs-namespaces"] };

export const confinements: readonly Confinement[] = CONFINEMENTS.map(({ name, programs }) => {
  const path = mkdtempSync(join(visiblePlace(), "confinement-"));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  chmodSync(path, 0o755);
  for (const program of programs) {
    const file = findProgram(program, process.env["PATH"], []) ?? findProgram(program, SYSTEM_PATH, []);
    if (file) symlinkSync(file, join(path, program));
  }
  return { name, path, tags: TAGS[name] ?? [] };
});

/** A directory that confined commands can see and this process can write; or else a temporary directory, which they cannot see. */
export function visiblePlace(): string {
  const candidates = ["/srv", homedir(), process.cwd()].filter((path) => existsSync(path));
  return candidates.find((path) => isVisible(path) && isWritable(path)) ?? tmpdir();
}

/** False below the directories of which every command has its own. */
export function isVisible(path: string): boolean {
  return !/^\/(tmp|var\/tmp|run)(\/|$)/.test(realpathSync(path));
}

// --- internal ---

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
