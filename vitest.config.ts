import { existsSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { defineConfig } from "vitest/config";
import { needTags } from "./scripts/needs.mjs";

const root = import.meta.dirname;

/** The tests of the repository itself, which begin first because one of them waits a minute; every package that has tests. */
const projects = [
  join(root, "test"),
  ...["packages", "apps"]
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(root, folder, name)))
    .filter((dir) => existsSync(join(dir, "test"))),
];

// Vitest finds this file from inside a package too: there it runs that package alone, with the same settings.
const inPackage = process.cwd() !== root;

export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // One more than there are processors: many tests wait for a time-out or for another process.
    maxWorkers: availableParallelism() + 1,
    tags: await needTags(),
    ...(inPackage
      ? {}
      : { projects: projects.map((dir) => ({ extends: true, test: { name: basename(dir), root: dir } })) }),
  },
});
