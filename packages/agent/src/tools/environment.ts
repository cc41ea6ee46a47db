/** The environment of commands: the variables that tools need, without secrets of this process. */
import { homedir } from "node:os";
import type { Workspace } from "@chimera/acp-schema/agent";

/** The variables that commands get. A list of secret variables to remove would never be complete. */
const NAMES = new Set(
  (
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP TERM COLORTERM NO_COLOR CI EDITOR " +
    "VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT PYTHONPATH PYTHONHOME NVM_DIR NVM_BIN VOLTA_HOME PNPM_HOME NODE_PATH NODE_ENV " +
    "NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE JAVA_HOME GRADLE_USER_HOME ANDROID_HOME GOPATH " +
    "GOROOT GOPROXY GOFLAGS CARGO_HOME RUSTUP_HOME RUSTFLAGS GEM_HOME GEM_PATH BUNDLE_PATH RBENV_ROOT DENO_DIR BUN_INSTALL " +
    "CC CXX CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS PKG_CONFIG_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH HTTP_PROXY HTTPS_PROXY " +
    "NO_PROXY http_proxy https_proxy no_proxy SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA " +
    "PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) USERPROFILE HOMEDRIVE HOMEPATH PSMODULEPATH"
  ).split(" "),
);
const PREFIXES = ["LC_", "XDG_"];

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Keeps the known names of `inherited`, drops addresses that carry a password, and fills in a path and a home.
 *
 * @example
 * const child = spawn("npm", ["test"], { env: cleanEnvironment(process.env) });
 */
export function cleanEnvironment(
  inherited: Variables = {},
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const kept = Object.entries(inherited)
    .map(([name, value]) => [nameOn(platform, name), value] as const)
    .filter(
      (entry): entry is readonly [string, string] =>
        entry[1] !== undefined &&
        (NAMES.has(entry[0]) || PREFIXES.some((prefix) => entry[0].startsWith(prefix))) &&
        !/:\/\/[^/]*@/.test(entry[1]),
    );
  const path = platform === "win32" ? "C:\\Windows\\System32;C:\\Windows" : DEFAULT_PATH;
  return { PATH: path, HOME: homedir(), TERM: "dumb", ...Object.fromEntries(kept) };
}

/** Finds a variable by its name, ignoring the case on Windows. */
export function variable(env: Variables, name: string, platform: NodeJS.Platform): string | undefined {
  if (platform !== "win32") return env[name];
  return Object.entries(env).find(([own]) => nameOn(platform, own) === nameOn(platform, name))?.[1];
}

/** On Windows `Path` and `PATH` are the same variable, but a copy of `process.env` distinguishes them. */
function nameOn(platform: NodeJS.Platform, name: string): string {
  return platform === "win32" ? name.toUpperCase() : name;
}

/**
 * Variables for a command that runs without a question because it only reads: they make git ignore settings of a repository that would
 * run a program.
 */
export async function quietGit(
  command: string,
  cwd: string,
  workspace: Workspace,
): Promise<Readonly<Record<string, string>>> {
  // Classify the command instead of searching it for "git", because the shell also runs git for g"i"t.
  const [{ classify }, { QUIET_GIT }] = await Promise.all([
    import("@chimera/sandbox/classify"),
    import("@chimera/sandbox/git"),
  ]);
  return classify(command, { workspace, cwd }).decision === "allow" ? QUIET_GIT : {};
}
