/** Recognizes the store's own files, so that it never removes others: its root may be any directory. */
import { lstatSync, readdirSync, rmSync } from "node:fs";
import { unless } from "../errors.js";

/** Drafts, and files that systems leave in any directory. */
const TEMPORARY = String.raw`(?:\.tmp-[\w-]+|\.DS_Store|\.nfs\w+)`;
const OWN = new RegExp(
  `^/(?:history\\.ndjson|restore\\.json|facts\\.ndjson|bell(?:\\.time)?|${TEMPORARY}|blobs(?:/(?:[0-9a-f]{64}|${TEMPORARY}))?` +
    `|snaps(?:/(?:${TEMPORARY}|snap-\\d{1,12}-\\d{1,16}(?:/(?:manifest\\.json|${TEMPORARY}))?))?)$`,
);
/** An empty directory is recognized by its name: a session's id, or the hash of a workspace. */
const OWN_NAME = /\/(?:[a-z][a-z0-9]*-\d{8}T\d{6}-[0-9a-f]{8}|\.baselines\/[0-9a-f]{32})$/;

/** True for a directory that contains only files of the store; false for a symbolic link to one. */
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

/** Removes a directory if everything in it is the store's. Otherwise it stays, and this returns false. */
export function removeOwnDirectory(directory: string): boolean {
  // Null means that it was removed meanwhile.
  if (unless(["ENOENT"], () => isOwnDirectory(directory)) === false) return false;
  rmSync(directory, { recursive: true, force: true });
  return true;
}
