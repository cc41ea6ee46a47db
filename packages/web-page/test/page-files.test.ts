import { readPage } from "@chimera/web-page";
import { expect, test } from "vitest";

const files = await readPage();
const text = (path: string) => Buffer.from(files.find((file) => file.path === path)!.body).toString();
const document = text("/");

/** What a file loads without being asked for anything: the document's files, and what modules import statically. */
function loadedWith(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen;
  seen.add(path);
  const content = text(path);
  const named =
    path === "/"
      ? [...content.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(([, asset]) => `/${asset}`)
      : [...content.matchAll(/(?:import|from)\s*"\.\/([^"]+\.js)"/g)].map(([, chunk]) => `/assets/${chunk}`);
  for (const next of named) loadedWith(next, seen);
  return seen;
}

test("the first load is at most 35 kB compressed, and the whole page at most 80 kB", () => {
  const size = (paths: Iterable<string>) =>
    [...paths].reduce((sum, path) => sum + files.find((file) => file.path === path)!.gzip.byteLength, 0);
  expect(loadedWith("/").size).toBeGreaterThan(3);
  expect(size(loadedWith("/"))).toBeLessThanOrEqual(35_000);
  expect(size(files.map(({ path }) => path))).toBeLessThanOrEqual(80_000);
});

test("every file but the document has its hash in its name, and each is the same however it is sent", () => {
  expect(files.filter(({ immutable }) => !immutable).map(({ path }) => path)).toEqual(["/"]);
  for (const { path, immutable, type } of files) {
    expect(type).toMatch(/^[a-z]+\/[a-z+]+/);
    if (immutable) expect(path).toMatch(/^\/assets\/[\w.]+-[A-Z0-9]{8}\.(js|css|svg|webmanifest)$/);
  }
});

test("nothing of it names another origin, and the document has no script or style of its own", () => {
  expect(document).not.toMatch(/<script>|<style|style=|\son\w+=/);
  expect(document).not.toMatch(/(?:href|src)="(?:\/|https?:)/);
  for (const { path, body } of files) {
    const addresses =
      Buffer.from(body)
        .toString()
        .match(/https?:\/\/[\w.-]+/g) ?? [];
    // Names of XML's vocabularies, which nobody fetches, and the highlighter's address in a sentence that it logs.
    const foreign = addresses.filter((one) => !/w3\.org|github\.com/.test(one));
    expect(foreign, path).toEqual([]);
  }
});
