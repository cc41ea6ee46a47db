import { HOME_SECRETS, SECRET_PLACES, SYSTEM_SECRETS } from "../secrets.js";
import { type Place, placesIn } from "./place.js";

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

/** What is hidden from every confined command; `more` are directories. */
export function secretPlaces(home: string, more: readonly string[]): Place[] {
  const directories = more.map((path) => `${path}/`);
  return [
    ...placesIn("/", [...SYSTEM_SECRETS, ...directories]),
    ...placesIn(home, SECRET_PLACES),
    ...placesIn(home, HOME_SECRETS).map((place) => ({ ...place, ifPresent: true })),
  ];
}
