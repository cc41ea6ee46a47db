import { resolve } from "node:path";
import { HOME_SECRETS, SECRET_PLACES, SYSTEM_SECRETS } from "../secrets.js";
import { words } from "../words.js";

/** A path with the kind of entry that is there, or that would be there. */
export interface Place {
  readonly path: string;
  readonly kind: "directory" | "file";
  /** The content that makes a placeholder file harmless. @defaultValue empty */
  readonly text?: string;
  /** Whether a missing entry gets no placeholder. @defaultValue false */
  readonly ifPresent?: boolean;
}

/** Makes places from names that are absolute or relative to `root`. Names of directories end with a slash. */
export function placesIn(root: string, names: readonly string[]): Place[] {
  return names.map((name) => ({ path: resolve(root, name), kind: name.endsWith("/") ? "directory" : "file" }));
}

/** Start-up files in the home directory. Their code runs at the next login. */
export const HOME_STARTUP_FILES = words(`
  .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .gitconfig .config/ .local/ .vimrc .npmrc
`);

/** The places that are hidden from all confined commands. `more` are directories. */
export function secretPlaces(home: string, more: readonly string[]): Place[] {
  const directories = more.map((path) => `${path}/`);
  return [
    ...placesIn("/", [...SYSTEM_SECRETS, ...directories]),
    ...placesIn(home, SECRET_PLACES),
    ...placesIn(home, HOME_SECRETS).map((place) => ({ ...place, ifPresent: true })),
  ];
}
