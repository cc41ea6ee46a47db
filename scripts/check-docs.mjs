#!/usr/bin/env node
// Links between documents lead somewhere: the file exists and so does the heading.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { runGate } from "./gate.mjs";
import { listFiles } from "./workspace.mjs";

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkDocs(root) {
  const documents = listFiles(root, ".", [".md"]);
  let count = 0;
  const problems = documents.flatMap((path) =>
    readLinks(readFileSync(join(root, path), "utf8")).flatMap(({ target, line }) => {
      count++;
      const problem = checkLink(root, path, target);
      return problem ? [`${path}:${line} ${problem}`] : [];
    }),
  );
  return { problems, summary: `${count} links in ${documents.length} documents` };
}

// --- internal ---

function readLinks(markdown) {
  const prose = withoutFences(markdown);
  return [...prose.matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)]
    .filter(([, target]) => !/^[a-z]+:/i.test(target))
    .map((match) => ({ target: match[1], line: prose.slice(0, match.index).split("\n").length }));
}

/** Code is blanked, not removed, so that line numbers hold. */
function withoutFences(markdown) {
  return markdown
    .replace(/^```[\s\S]*?^```$/gm, (fence) => fence.replace(/[^\n]/g, " "))
    .replace(/`[^`\n]*`/g, (code) => " ".repeat(code.length));
}

function checkLink(root, from, target) {
  const [file, anchor] = target.split("#");
  const path = file === "" ? from : posix.join(dirname(from), decodeURIComponent(file));
  if (!existsSync(join(root, path))) return `links to ${target}, which does not exist`;
  if (anchor === undefined || anchor === "" || statSync(join(root, path)).isDirectory()) return undefined;
  const headings = [...withoutFences(readFileSync(join(root, path), "utf8")).matchAll(/^#+ +(.+)$/gm)];
  return headings.some(([, heading]) => slug(heading) === anchor) ? undefined : `links to ${target}: no such heading`;
}

function slug(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

await runGate(import.meta, checkDocs);
