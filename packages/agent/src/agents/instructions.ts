/** Project instructions: AGENTS.md and rule files, joined for the system prompt. */
import { join } from "node:path";
import { listBeneath, readTextBeneath } from "../files/project-file.js";
import { parseFrontMatter } from "./front-matter.js";

/** Characters of all instructions together. */
export const MAX_INSTRUCTIONS = 10_000;

const MARKER = "\n[...truncated]";

/** Empty when there are none; what does not fit is cut, and the cut is marked. */
export async function loadInstructions({ home, cwd }: { home: string; cwd: string }): Promise<string> {
  const places: (readonly [root: string, path: string])[] = [
    [home, join(".opencode", "AGENTS.md")],
    [home, join(".config", "opencode", "AGENTS.md")],
    [cwd, "AGENTS.md"],
    ...(await listBeneath(cwd, join(".cursor", "rules"), ".mdc")).map((path) => [cwd, path] as const),
    [cwd, join(".opencode", "rules.md")],
  ];
  const texts = await Promise.all(
    places.map(async ([root, path]) => {
      const text = await readTextBeneath(root, path);
      const { body } = await parseFrontMatter(text ?? "");
      return body === "" ? [] : [`<!-- source: ${join(root, path)} -->\n${body}`];
    }),
  );
  const joined = texts.flat().join("\n\n");
  if (joined.length <= MAX_INSTRUCTIONS) return joined;
  return joined.slice(0, MAX_INSTRUCTIONS - MARKER.length).replace(/[\ud800-\udbff]$/, "") + MARKER;
}
