import { stat } from "node:fs/promises";

/** Where the binary of ripgrep is; null when it is not installed for this machine. */
export async function ripgrepPath(): Promise<string | null> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    return (await stat(rgPath)).isFile() ? rgPath : null;
  } catch {
    return null;
  }
}
