import { resolve } from "node:path";
import { HOME_SECRETS, SECRET_PLACES, SYSTEM_SECRETS } from "../secrets.js";
import { words } from "../words.js";

/** Somewhere in the file system, with what lies there, or would if it existed. */
export interface Place {
  readonly path: string;
  readonly kind: "directory" | "file";
  /** What a file that stands in for it must hold to be harmless. @defaultValue nothing */
  readonly text?: string;
  /** Whether nothing is to stand in for it while it is missing. @defaultValue false */
  readonly ifPresent?: boolean;
}

/** From names relative to `root`, or absolute, of which directories end in a slash. */
export function placesIn(root: string, names: readonly string[]): Place[] {
  return names.map((name) => ({ path: resolve(root, name), kind: name.endsWith("/") ? "directory" : "file" }));
}

/** Start-up files of the home directory: writing one runs code at the next login. */
export const HOME_STARTUP_FILES = words(`
  .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .gitconfig .config/ .local/ .vimrc .npmrc
`);

/** What is hidden from every confined command; `more` are directories. */
export function secretPlaces(home: string, more: readonly string[]): Place[] {
  const directories = more.map((path) => `${path}/`);
  return [
    ...placesIn("/", [...SYSTEM_SECRETS, ...directories]),
    ...placesIn(home, SECRET_PLACES),
    ...placesIn(home, HOME_SECRETS).map((place) => ({ ...place, ifPresent: true })),
  ];
}
