/** A workspace on the local disk, without an editor and without undo. */
import type { Workspace } from "@chimera/acp-schema/agent";
import { MAX_TEXT_BYTES, readCanonicalText, writeCanonical } from "./files/canonical-file.js";

/** `readText` and `writeText` take canonical paths and pass through no link, so a checked path cannot lead elsewhere. */
export function localWorkspace(cwd: string, directories: readonly string[] = []): Workspace {
  return {
    cwd,
    directories,
    readText: (path) => readCanonicalText(path, MAX_TEXT_BYTES),
    writeText: writeCanonical,
    willWrite: async () => {},
    willRun: async () => async () => [],
  };
}
