import { existsSync } from "node:fs";
import { delimiter, isAbsolute } from "node:path";
import { words } from "../words.js";

/** Variables that a command inherits: those with which tools find their files, and the user's language. */
const INHERITED = new Set(
  words(`
    CARGO_HOME COLORTERM CONDA_PREFIX GOPATH GOROOT HOME JAVA_HOME LANG LANGUAGE LOGNAME NODE_EXTRA_CA_CERTS NO_COLOR NVM_DIR PNPM_HOME
    PYENV_ROOT RUSTUP_HOME SHELL SSL_CERT_DIR SSL_CERT_FILE TERM TZ USER VIRTUAL_ENV
  `),
);

const INHERITED_WITH_NETWORK = new Set(words("HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy"));

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The whole environment of a confined command. The program that spawns it gets the same, because `/proc/1/environ` shows it. */
export function cleanEnvironment(base: Environment, network: boolean): Record<string, string> {
  const wanted = ([name]: [string, string]) =>
    INHERITED.has(name) || name.startsWith("LC_") || (network && INHERITED_WITH_NETWORK.has(name));
  return {
    ...Object.fromEntries(given(base).filter(wanted)),
    PATH: absolutePath(base["PATH"]),
    TMPDIR: "/tmp",
    // Caches go to the scratch directory, because the home directory is read-only.
    XDG_CACHE_HOME: "/tmp/.cache",
    npm_config_cache: "/tmp/.npm",
  };
}

/** The variables with a value. */
export function given(env: Environment): [name: string, value: string][] {
  return Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
}

/** `PATH` without relative entries, with which a command's meaning would depend on its directory. */
export function absolutePath(path: string | undefined): string {
  const kept = (path ?? "").split(delimiter).filter((entry) => isAbsolute(entry));
  return kept.length > 0 ? kept.join(delimiter) : DEFAULT_PATH;
}

/** The command line that runs a shell command: with bash if possible, because people and models write for it. */
export function shell(command: string): [file: string, ...args: string[]] {
  // --norc, because Node may give bash a socket as its input. Bash then takes itself for a remote shell and runs start-up files.
  return existsSync("/bin/bash") ? ["/bin/bash", "--norc", "-c", command] : ["/bin/sh", "-c", command];
}
