/** The files of a session on disk. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { outputsIn } from "@chimera/agent/agents";
import type { SessionFiles } from "@chimera/session";
import type { Paths } from "./paths.js";
import { bytesBelow, type Storage } from "./storage.js";

/** @param sizeOf the size of a session's log in its store. */
export function sessionFiles(paths: Pick<Paths, "snapshots" | "outputs">, sizeOf: Storage["sizeOf"]): SessionFiles {
  const outputs = (id: string) => outputsIn(paths.outputs, id);
  return {
    async bytes(id) {
      const sizes = await Promise.all([sizeOf(id), bytesBelow(join(paths.snapshots, id)), bytesBelow(outputs(id))]);
      return sizes.reduce((sum, bytes) => sum + bytes, 0);
    },
    remove: (id) => rm(outputs(id), { recursive: true, force: true }),
  };
}
