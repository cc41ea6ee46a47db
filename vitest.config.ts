import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { defineConfig } from "vitest/config";

const root = import.meta.dirname;

/** Every package and app that has tests, and the tests of the repository itself. */
const projects = ["packages", "apps"]
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(root, folder, name)))
  .filter((dir) => existsSync(join(dir, "test")))
  .concat(join(root, "test"));

// Vitest finds this file from inside a package too: there it runs that package alone, with the same settings.
const inPackage = process.cwd() !== root;

export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 20_000,
    maxWorkers: "100%",
    ...(inPackage
      ? {}
      : { projects: projects.map((dir) => ({ extends: true, test: { name: basename(dir), root: dir } })) }),
  },
});
