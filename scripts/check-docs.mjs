#!/usr/bin/env node
// Documents stay true where a program can tell: links lead to a file and a heading that exist, paths written as code are in
// the tree, and every page of docs/ can be reached. A package's README is read on npm too, where only an address leads out of
// the package: there a link to a page of this repository is written in full.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { runGate } from "./gate.mjs";
import { listFiles, readPackages, repositoryAddress } from "./workspace.mjs";

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkDocs(root) {
  const documents = listFiles(root, ".", [".md"]);
  const address = repositoryAddress(root);
  const published = readPackages(root).filter(({ manifest }) => manifest.private !== true);
  const readmes = new Set(published.map(({ dir }) => `${dir}/README.md`));
  const reached = new Set();
  let count = 0;
  const problems = documents.flatMap((path) => {
    const text = readFileSync(join(root, path), "utf8");
    const claims = [
      ...readLinks(text).map(({ target, line }) => ({
        line,
        problem: readmes.has(path)
          ? checkPublishedLink(root, path, target, reached, address)
          : checkLink(root, path, ownPage(target, address, path) ?? target, reached, target),
      })),
      ...readPaths(text).map(({ target, line }) => ({ line, problem: checkPath(root, path, target) })),
    ];
    count += claims.length;
    return claims.filter(({ problem }) => problem).map(({ line, problem }) => `${path}:${line} ${problem}`);
  });
  const orphans = documents.filter((path) => path.startsWith("docs/") && !reached.has(path));
  problems.push(...orphans.map((path) => `${path}:1 is linked from no other document`));
  return { problems, summary: `${count} links and paths in ${documents.length} documents` };
}

// --- internal ---

function readLinks(markdown) {
  const prose = withoutFences(markdown).replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()]/g, " "));
  return [...prose.matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)].map((match) => ({
    target: match[1],
    line: prose.slice(0, match.index).split("\n").length,
  }));
}

/** Inline code that names a place in this repository. */
function readPaths(markdown) {
  const prose = withoutFences(markdown);
  return [...prose.matchAll(/`((?:packages|apps|scripts|tools|bench|docs|test|examples)\/[\w./-]+)`/g)].map(
    (match) => ({
      target: match[1],
      line: prose.slice(0, match.index).split("\n").length,
    }),
  );
}

/** A path is read from the root, or in a package's README from that package. */
function checkPath(root, from, target) {
  const places = [join(root, target), join(root, dirname(from), target)];
  return places.some((place) => existsSync(place)) ? undefined : `speaks of ${target}, which does not exist`;
}

/** Code is blanked, not removed, so that line numbers hold. */
function withoutFences(markdown) {
  return markdown.replace(/^```[\s\S]*?^```$/gm, (fence) => fence.replace(/[^\n]/g, " "));
}

/** A full address of a page of this repository, as a path relative to the document that names it. */
function ownPage(target, address, from) {
  const prefix = ["blob", "tree"].map((kind) => `${address}/${kind}/main/`).find((start) => target.startsWith(start));
  return prefix && posix.relative(dirname(from), target.slice(prefix.length));
}

function checkPublishedLink(root, from, target, reached, address) {
  const page = ownPage(target, address, from);
  if (page === undefined && !isElsewhere(target) && !target.startsWith("#")) {
    const path = posix.join(dirname(from), target);
    return `links to ${target}, which npm does not show: write ${address ?? "the repository"}/blob/main/${path}`;
  }
  return checkLink(root, from, page ?? target, reached, target);
}

const isElsewhere = (target) => /^[a-z]+:/i.test(target);

function checkLink(root, from, target, reached, shown) {
  if (isElsewhere(target)) return undefined;
  const [file, anchor] = target.split("#");
  const path = file === "" ? from : posix.join(dirname(from), decodeURIComponent(file));
  if (path !== from) reached.add(posix.normalize(path));
  if (!existsSync(join(root, path))) return `links to ${shown}, which does not exist`;
  if (anchor === undefined || anchor === "" || statSync(join(root, path)).isDirectory()) return undefined;
  const headings = [...withoutFences(readFileSync(join(root, path), "utf8")).matchAll(/^#+ +(.+)$/gm)];
  return headings.some(([, heading]) => slug(heading) === anchor) ? undefined : `links to ${shown}: no such heading`;
}

function slug(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

await runGate(import.meta, checkDocs);
