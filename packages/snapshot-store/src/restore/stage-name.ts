/** The name of the directory a restore prepares its files in; no index of a workspace ever lists it. */
export const STAGE_PREFIX = ".chimera-restore-";

export function isStageName(name: unknown): boolean {
  return typeof name === "string" && /^\.chimera-restore-[0-9a-f]{12}$/.test(name);
}
