/** What is kept on disk for a session. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { outputsIn } from "@chimera/agent/agents";
import type { SessionFiles } from "@chimera/session";
import type { Paths } from "./paths.js";
import { bytesBelow } from "./storage.js";

export function sessionFiles(paths: Pick<Paths, "eventlog" | "snapshots" | "outputs">): SessionFiles {
  const outputs = (id: string) => outputsIn(paths.outputs, id);
  return {
    async bytes(id) {
      const places = [join(paths.eventlog, id), join(paths.snapshots, id), outputs(id)];
      const sizes = await Promise.all(places.map(bytesBelow));
      return sizes.reduce((sum, bytes) => sum + bytes, 0);
    },
    remove: (id) => rm(outputs(id), { recursive: true, force: true }),
  };
}
