// A tree of files in a temporary directory, and a repository script run against it as a real process.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const repositoryRoot = join(dirname(fileURLToPath(import.meta.url)), "..");

/** Writes the files (JSON for anything but a string) and removes them when the test ends, or the scope given. */
export function scratchTree(
  files: Record<string, unknown>,
  atEnd: (cleanup: () => void) => void = onTestFinished,
): string {
  const root = mkdtempSync(join(tmpdir(), "chimera-gate-"));
  atEnd(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), typeof content === "string" ? content : JSON.stringify(content, null, 2));
  }
  return root;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `node scripts/<name> <args>` and waits for it. */
export function runScript(name: string, ...args: string[]): Ended {
  return runScriptWith({}, name, ...args);
}

/** The same, with variables added to the environment. */
export function runScriptWith(env: Record<string, string>, name: string, ...args: string[]): Ended {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(repositoryRoot, "scripts", name), ...args], {
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", ...env },
  });
  return { code: status, stdout, stderr };
}

/** Runs a program below `test` that makes trouble by chance. It says its seed, which is needed most when it ends badly. */
export async function runTrouble(path: string, ...args: string[]): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [join(repositoryRoot, "test", path), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (text.includes("--seed")) process.stdout.write(text);
    });
  const [code] = await once(child, "close");
  return { code, said };
}
