/** Project instructions: AGENTS.md and rule files, joined for the system prompt. */
import { join } from "node:path";
import { startOf } from "@chimera/acp-schema/text";
import { listBeneath, readTextBeneath } from "../files/project-file.js";
import { parseFrontMatter } from "./front-matter.js";

/** Characters of all instructions together. */
export const MAX_INSTRUCTIONS = 10_000;

const MARKER = "\n[...truncated]";

interface InstructionPlace {
  readonly root: string;
  readonly path: string;
  /** Of the files, where `path` is a directory. */
  readonly ending?: string;
}

type Roots = { readonly home: string; readonly cwd: string };

/** Where they are, in the order in which they are told; a directory stands for the rule files in it. */
export function instructionPlaces({ home, cwd }: Roots): readonly InstructionPlace[] {
  return [
    { root: home, path: join(".opencode", "AGENTS.md") },
    { root: home, path: join(".config", "opencode", "AGENTS.md") },
    { root: cwd, path: "AGENTS.md" },
    { root: cwd, path: join(".cursor", "rules"), ending: ".mdc" },
    { root: cwd, path: join(".opencode", "rules.md") },
  ];
}

/** Empty when there are none; what does not fit is cut, and the cut is marked. */
export async function loadInstructions(roots: Roots): Promise<string> {
  const files = await Promise.all(
    instructionPlaces(roots).map(async ({ root, path, ending }) => {
      const paths = ending === undefined ? [path] : await listBeneath(root, path, ending);
      return paths.map((file) => [root, file] as const);
    }),
  );
  let joined = "";
  for (const [root, path] of files.flat()) {
    const { body } = await parseFrontMatter((await readTextBeneath(root, path)) ?? "");
    if (body !== "") joined += `${joined === "" ? "" : "\n\n"}<!-- source: ${join(root, path)} -->\n${body}`;
    if (joined.length > MAX_INSTRUCTIONS) break;
  }
  if (joined.length <= MAX_INSTRUCTIONS) return joined;
  return startOf(joined, MAX_INSTRUCTIONS - MARKER.length) + MARKER;
}
