/** What the store writes below the directory of a session or of a workspace. The store's root may be anybody's directory. */
import { lstatSync, readdirSync, rmSync } from "node:fs";
import { unless } from "../errors.js";

/** Besides drafts, what systems leave in any directory. */
const TEMPORARY = String.raw`(?:\.tmp-[\w-]+|\.DS_Store|\.nfs\w+)`;
const OWN = new RegExp(
  `^/(?:history\\.ndjson|restore\\.json|facts\\.ndjson|bell(?:\\.time)?|${TEMPORARY}|blobs(?:/(?:[0-9a-f]{64}|${TEMPORARY}))?` +
    `|snaps(?:/(?:${TEMPORARY}|snap-\\d{1,12}-\\d{1,16}(?:/(?:manifest\\.json|${TEMPORARY}))?))?)$`,
);
/** An empty directory is known by its name: a session's id, or the hash of a workspace. */
const OWN_NAME = /\/(?:[a-z][a-z0-9]*-\d{8}T\d{6}-[0-9a-f]{8}|\.baselines\/[0-9a-f]{32})$/;

/** True for a directory in which there is nothing but what the store writes; a link to one is somebody else's. */
export function isOwnDirectory(directory: string): boolean {
  const pending = [""];
  let found = OWN_NAME.test(directory);
  if (!lstatSync(directory, { throwIfNoEntry: false })?.isDirectory()) return false;
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    for (const entry of readdirSync(directory + at, { withFileTypes: true })) {
      const name = `${at}/${entry.name}`;
      if (!OWN.test(name) || !(entry.isDirectory() || entry.isFile())) return false;
      if (entry.isDirectory()) pending.push(name);
      found = true;
    }
  }
  return found;
}

/** Removes it if all of it is the store's; otherwise it stays as it is. */
export function removeOwnDirectory(directory: string): boolean {
  // Null: gone meanwhile.
  if (unless(["ENOENT"], () => isOwnDirectory(directory)) === false) return false;
  rmSync(directory, { recursive: true, force: true });
  return true;
}
