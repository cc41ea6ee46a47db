/** The shell that runs a command line: bash where there is one, else what the system has. */
import { existsSync } from "node:fs";
import { win32 } from "node:path";
import { variable } from "./environment.js";

export interface Shell {
  readonly name: "bash" | "sh" | "PowerShell";
  readonly file: string;
  args(command: string): string[];
}

type Variables = Readonly<Record<string, string | undefined>>;

/** `env` says where programs are installed. */
export function findShell(
  env: Variables,
  { platform, exists }: { readonly platform: NodeJS.Platform; exists(path: string): boolean } = {
    platform: process.platform,
    exists: existsSync,
  },
): Shell {
  const isWindows = platform === "win32";
  const file = (isWindows ? gitBashes(env) : BASHES).find(exists);
  // With a socket as its input, as Node gives one, bash takes itself for a remote shell and would run the person's start-up files.
  if (file !== undefined) return { name: "bash", file, args: (command) => ["--norc", "-c", command] };
  if (!isWindows) return { name: "sh", file: "sh", args: (command) => ["-c", command] };
  return { name: "PowerShell", file: "powershell.exe", args: powerShellArgs };
}

// --- internal ---

const BASHES = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

/** Where Git for Windows has its bash. The `bash.exe` of the system itself would start another system. */
function gitBashes(env: Variables): string[] {
  const folders = ["ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"].map((name) => variable(env, name, "win32"));
  return folders
    .filter((folder) => folder !== undefined)
    .flatMap((folder) => [win32.join(folder, "Git"), win32.join(folder, "Programs", "Git")])
    .map((git) => win32.join(git, "bin", "bash.exe"));
}

/** Encoded, because no way of quoting survives both Windows and PowerShell. The end of the last program is that of the command. */
function powerShellArgs(command: string): string[] {
  const script = `$ProgressPreference = "SilentlyContinue"\n${command}\nif ($LASTEXITCODE) { exit $LASTEXITCODE }`;
  const encoded = Buffer.from(script, "utf16le").toString("base64");
  return ["-NoProfile", "-NonInteractive", "-EncodedCommand", encoded];
}
