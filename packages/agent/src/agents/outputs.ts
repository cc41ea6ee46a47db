/** Output too long for the model, each kept whole in a file of its own, by session. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Turn } from "@chimera/acp-schema/agent";

export interface Outputs {
  directory(sessionId: string): string;
  /** Returns the file that holds the text. */
  keep(turn: Pick<Turn, "sessionId">, name: string, text: string): Promise<string>;
}

export function createOutputs(root: string): Outputs {
  const directory = (sessionId: string) => join(root, fileName(sessionId));
  return {
    directory,
    async keep({ sessionId }, name, text) {
      await mkdir(directory(sessionId), { recursive: true, mode: 0o700 });
      const path = join(directory(sessionId), `${fileName(name)}.txt`);
      await writeFile(path, text, { mode: 0o600 });
      return path;
    },
  };
}

// --- internal ---

/** A name that leads nowhere else. */
function fileName(name: string): string {
  return name.replace(/[^\w.-]|^\.+$/g, "_");
}
