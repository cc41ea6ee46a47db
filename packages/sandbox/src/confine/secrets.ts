import { type Place, placesIn } from "./place.js";

/** Credentials below the home directory that no confined command may read. Directories end in a slash. */
const HOME_SECRETS = [
  ".ssh/",
  ".gnupg/",
  ".aws/",
  ".azure/",
  ".kube/",
  ".docker/",
  ".netrc",
  ".npmrc",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".git-credentials",
  ".password-store/",
  ".terraform.d/",
  ".vault-token",
  ".bash_history",
  ".zsh_history",
  ".node_repl_history",
  ".python_history",
  ".psql_history",
  ".mozilla/",
  ".codex/auth.json",
  ".claude/.credentials.json",
  ".cargo/credentials.toml",
  ".config/gh/",
  ".config/git/credentials",
  ".config/gcloud/",
  ".config/chromium/",
  ".config/google-chrome/",
  ".config/hub/",
  ".local/share/keyrings/",
  ".local/share/opencode/auth.json",
  "Library/Keychains/",
] as const;

const SYSTEM_SECRETS = [
  "/etc/shadow",
  "/etc/shadow-",
  "/etc/ssl/private/",
  "/etc/ssh/",
  "/etc/krb5.keytab",
  "/etc/kubernetes/",
] as const;

/** Start-up files of the home directory: writing one runs code at the next login. */
export const HOME_STARTUP_FILES = [
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".profile",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".gitconfig",
  ".config/",
  ".local/",
  ".vimrc",
  ".npmrc",
] as const;

/** What is hidden from every confined command, whether or not it exists; `more` are directories. */
export function secretPlaces(home: string, more: readonly string[]): Place[] {
  const directories = more.map((path) => `${path}/`);
  return [...placesIn("/", [...SYSTEM_SECRETS, ...directories]), ...placesIn(home, HOME_SECRETS)];
}
