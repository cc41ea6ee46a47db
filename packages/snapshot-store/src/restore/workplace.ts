/** The place of a restore: paths of the workspace, reached without following symbolic links. */
import type { Blobs } from "../content/blobs.js";
import { ABSENT, type Observed, observing } from "../content/file-state.js";
import { errnoOf } from "../errors.js";
import { atOnce, type Steps } from "../pacer.js";
import { type PinnedDir, pinBelow } from "../workspace/pinned-dir.js";
import type { Roots } from "../workspace/roots.js";

export interface Workplace {
  readonly roots: Roots;
  readonly blobs: Blobs;
  readonly fileBytes: number;
  /** Throws when another process holds the session now; that process then settles an unfinished restore. */
  requireHeld(): void;
}

/** The state of a path of the workspace; a path that cannot be reached counts as absent. */
export function lookAt(path: string, place: Workplace): Pick<Observed, "state" | "bytes"> {
  return atOnce(lookingAt(path, place));
}

/** The state of a path, read piece by piece. */
export function* lookingAt(path: string, place: Workplace): Steps<Pick<Observed, "state" | "bytes">> {
  if (place.roots.locate(path) === null)
    return { state: { kind: "skipped", reason: "outside_workspace" }, bytes: null };
  try {
    const seen = yield* stepsInParent(path, place, "as they are", (parent, name) =>
      observing(parent.at(name), place.fileBytes),
    );
    return seen ?? { state: ABSENT, bytes: null };
  } catch (error) {
    if (errnoOf(error) !== "EACCES") throw error;
    return { state: { kind: "skipped", reason: "unreadable" }, bytes: null };
  }
}

/** Runs `work` with the pinned parent of a path and its last component; undefined when the parent cannot be reached. */
export function inParent<T>(
  path: string,
  place: Workplace,
  parents: "as they are" | "made",
  work: (parent: PinnedDir, name: string) => T,
): T | undefined {
  return atOnce(
    // biome-ignore lint/correctness/useYield: this work has one step.
    stepsInParent(path, place, parents, function* (parent, name) {
      return work(parent, name);
    }),
  );
}

/** `inParent` for work in steps. */
export function* stepsInParent<T>(
  path: string,
  place: Workplace,
  parents: "as they are" | "made",
  work: (parent: PinnedDir, name: string) => Steps<T>,
): Steps<T | undefined> {
  place.requireHeld();
  const { root, parts } = place.roots.locate(path)!;
  const parent = pinBelow(root, parts.slice(0, -1), parents === "made");
  if (parent === null) return undefined;
  try {
    return yield* work(parent, parts.at(-1)!);
  } finally {
    parent.close();
  }
}
