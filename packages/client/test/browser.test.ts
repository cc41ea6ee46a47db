import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

/** The imports of a built file, and of all files it loads, that only a bundler or Node can resolve. */
async function namesIn(file: URL, seen = new Set<string>()): Promise<string[]> {
  if (seen.has(file.href)) return [];
  seen.add(file.href);
  const imports = (await readFile(file, "utf8")).matchAll(/\b(?:from|import)\s*\(?\s*["']([^"']+)["']/g);
  const names = [...imports].map(([, name]) => name ?? "");
  const loaded = names.filter((name) => name.startsWith("."));
  const further = await Promise.all(loaded.map((name) => namesIn(new URL(name, file), seen)));
  return [...names.filter((name) => !name.startsWith(".")), ...further.flat()];
}

test.each(["index.js", "acp.js"])("a browser loads %s without a bundler", async (entry) => {
  expect(await namesIn(new URL(`../dist/${entry}`, import.meta.url))).toEqual([]);
});
