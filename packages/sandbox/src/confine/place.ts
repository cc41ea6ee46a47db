import { resolve } from "node:path";

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
