/** A workspace that is simply a directory on this machine: no undo, no editor, no terminal of a client's. */
import { dirname, resolve } from "node:path";
import type { Workspace } from "./port.js";

export function localWorkspace(cwd: string, directories: readonly string[] = []): Workspace {
  const root = resolve(cwd);
  return {
    cwd: root,
    directories: directories.map((directory) => resolve(root, directory)),
    async readText(path) {
      const { readFile } = await import("node:fs/promises");
      return readFile(resolve(root, path), "utf8");
    },
    async writeText(path, text) {
      const { mkdir, writeFile } = await import("node:fs/promises");
      const file = resolve(root, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    },
    willWrite: async () => {},
    willRun: async () => async () => {},
  };
}
