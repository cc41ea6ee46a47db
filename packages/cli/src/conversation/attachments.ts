/** Files in a person's text: completes names after an `@`, and adds pictures to a prompt. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { PromptBlock } from "@chimera/acp-schema/events";

const PICTURES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};
/** In bytes. Providers refuse larger pictures. */
const LARGEST_PICTURE = 5 * 1024 * 1024;
const MOST_PICTURES = 8;
/** Matches a path that was typed, quoted, or dropped on the terminal: `@a.png`, `'my picture.png'`, `my\ picture.png`. */
const PATH = /(?<=^|\s)@?(?:'([^'\n]+)'|"([^"\n]+)"|((?:\\.|[^\s\\'"])+))/g;

/** Adds the pictures that a prompt's text names. Complains about a picture that is too large, and leaves it out. */
export async function readMentions(
  text: string,
  cwd: string | null,
  complain: (error: Error) => void,
): Promise<{ text: string; content?: PromptBlock[] }> {
  if (cwd === null) return { text };
  const pictures: PromptBlock[] = [];
  for (const [, single, double, bare] of text.slice(0, LONGEST_SEARCHED).matchAll(PATH)) {
    const path = single ?? double ?? bare?.replace(/\\(.)/g, "$1") ?? "";
    const mimeType = PICTURES[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ""];
    if (mimeType === undefined || pictures.length >= MOST_PICTURES) continue;
    const found = await stat(resolve(cwd, path)).catch(() => null);
    if (!found?.isFile()) continue;
    if (found.size > LARGEST_PICTURE) complain(new Error(`${path} is larger than 5 MiB and is not sent as a picture`));
    else pictures.push({ type: "image", mimeType, data: (await readFile(resolve(cwd, path))).toString("base64") });
  }
  return pictures.length === 0 ? { text } : { text, content: [{ type: "text", text }, ...pictures] };
}

const LONGEST_SEARCHED = 64 * 1024;
const MOST_FILES = 20_000;
const SHOWN = 20;
const FRESH_MS = 10_000;

/** Finds file names below a directory. Reads them in the background, and again when they are old. */
export function createFileFinder(cwd: string) {
  let names: readonly string[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  return (part: string, onMore: () => void): string[] => {
    if (performance.now() - readAt > FRESH_MS) {
      readAt = performance.now();
      void listFiles(cwd).then((found) => {
        names = found;
        onMore();
      });
    }
    const wanted = part.toLowerCase();
    const scored = names.flatMap((name) => {
      const at = name.toLowerCase().lastIndexOf(wanted);
      // A match at the start of a name ranks higher than one inside.
      return at < 0 ? [] : [{ name, rank: (at === 0 || name[at - 1] === "/" ? 0 : 1000) + name.length }];
    });
    return scored
      .sort((a, b) => a.rank - b.rank)
      .slice(0, SHOWN)
      .map(({ name }) => name);
  };
}

// --- internal ---

/** Folders whose files people rarely name. */
const LEFT_OUT = new Set(["node_modules", "dist", "target", "__pycache__"]);

/** Lists the files, those in upper directories first. Follows no links. */
async function listFiles(root: string): Promise<string[]> {
  const files: string[] = [];
  const folders = [""];
  for (const folder of folders) {
    if (files.length >= MOST_FILES || folders.length >= MOST_FILES) break;
    for (const entry of await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isFile()) files.push(path);
      else if (entry.isDirectory() && !entry.name.startsWith(".") && !LEFT_OUT.has(entry.name)) folders.push(path);
    }
  }
  return files.slice(0, MOST_FILES);
}
