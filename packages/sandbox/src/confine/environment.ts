import { existsSync } from "node:fs";
import { delimiter, isAbsolute } from "node:path";
import { words } from "../words.js";

/** Variables a command may inherit: what tools need to find themselves and to speak the user's language. */
const INHERITED = new Set(
  words(`
    CARGO_HOME COLORTERM CONDA_PREFIX GOPATH GOROOT HOME JAVA_HOME LANG LANGUAGE LOGNAME NODE_EXTRA_CA_CERTS NO_COLOR NVM_DIR PNPM_HOME
    PYENV_ROOT RUSTUP_HOME SHELL SSL_CERT_DIR SSL_CERT_FILE TERM TZ USER VIRTUAL_ENV
  `),
);

const INHERITED_WITH_NETWORK = new Set(words("HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy"));

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The whole environment of a confined command, also for its spawner, whose own shows in `/proc/1/environ`. */
export function cleanEnvironment(base: Environment, network: boolean): Record<string, string> {
  const wanted = ([name]: [string, string]) =>
    INHERITED.has(name) || name.startsWith("LC_") || (network && INHERITED_WITH_NETWORK.has(name));
  return {
    ...Object.fromEntries(given(base).filter(wanted)),
    PATH: absolutePath(base["PATH"]),
    TMPDIR: "/tmp",
    // The home directory is read-only; caches go to the scratch directory.
    XDG_CACHE_HOME: "/tmp/.cache",
    npm_config_cache: "/tmp/.npm",
  };
}

/** The variables that have a value. */
export function given(env: Environment): [name: string, value: string][] {
  return Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
}

/** `PATH` without relative entries, which would make the meaning of a command depend on its directory. */
export function absolutePath(path: string | undefined): string {
  const kept = (path ?? "").split(delimiter).filter((entry) => isAbsolute(entry));
  return kept.length > 0 ? kept.join(delimiter) : DEFAULT_PATH;
}

/** The command line that runs a shell command; bash where it is, because people and models write for it. */
export function shell(command: string): [file: string, ...args: string[]] {
  // With a socket as its input, as Node gives one, bash takes itself for a remote shell and would run the person's start-up files.
  return existsSync("/bin/bash") ? ["/bin/bash", "--norc", "-c", command] : ["/bin/sh", "-c", command];
}
