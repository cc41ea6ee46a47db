import { stat } from "node:fs/promises";

/** Path of the ripgrep binary; null when none is installed for this machine. */
export async function ripgrepPath(): Promise<string | null> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    return (await stat(rgPath)).isFile() ? rgPath : null;
  } catch {
    return null;
  }
}
