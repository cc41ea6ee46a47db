import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

const address = "https://example.org/old";

/** A manifest as the registry should see it; `changes` spoil it. */
const manifest = (dir: string, changes: object = {}) => ({
  name: `@chimera/${dir.split("/")[1]}`,
  version: "1.0.0",
  description: "What the scratch package is for.",
  keywords: ["one", "two", "three"],
  license: "MIT",
  homepage: `${address}/tree/main/${dir}#readme`,
  repository: { type: "git", url: `git+${address}.git`, directory: dir },
  bugs: { url: `${address}/issues` },
  engines: { node: ">=20.19" },
  publishConfig: { access: "public" },
  dependencies: { "@chimera/base": "workspace:^", left: "catalog:" },
  ...changes,
});

const tree = (manifests: Record<string, object>) =>
  scratchTree({
    "package.json": { name: "scratch", private: true, repository: { type: "git", url: `git+${address}.git` } },
    "pnpm-workspace.yaml": 'packages: ["packages/*"]\ncatalog:\n  left: ^1.0.0\n  right: 1.0.0\n',
    ...Object.fromEntries(
      Object.entries(manifests).flatMap(([dir, content]) => [
        [`${dir}/package.json`, content],
        [`${dir}/README.md`, `# It\n\n[all](${address}/blob/main/README.md)\n`],
      ]),
    ),
    "README.md": "# All\n",
  });

test("a manifest that misleads is named with what it should say, a sound one is not", () => {
  const root = tree({
    "packages/sound": manifest("packages/sound"),
    "packages/spoilt": manifest("packages/spoilt", {
      keywords: ["one", "one"],
      homepage: "https://example.org/elsewhere",
      dependencies: { "@chimera/base": "workspace:*", right: "catalog:" },
    }),
    "apps/program": manifest("apps/program", { optionalDependencies: { right: "1.0.0" } }),
  });
  const { code, stderr } = runScript("check-manifests.mjs", root);
  expect(stderr.trim().split("\n")).toEqual([
    `packages/spoilt/package.json homepage is not "${address}/tree/main/packages/spoilt#readme"`,
    "packages/spoilt/package.json needs three keywords or more to be found by",
    "packages/spoilt/package.json repeats a keyword",
    "packages/spoilt/package.json pins @chimera/base to workspace:*: a library asks for a range (^)",
    "packages/spoilt/package.json pins right to 1.0.0: a library asks for a range (^)",
  ]);
  expect(code).toBe(1);
});

test("the repository moves with one command, links and all", () => {
  const root = tree({ "packages/sound": manifest("packages/sound") });
  expect(runScript("../tools/name-repository.mjs", "https://example.org/new/", root)).toMatchObject({ code: 2 });
  expect(runScript("../tools/name-repository.mjs", "https://example.org/new.git", root)).toMatchObject({
    code: 0,
    stderr: "",
  });
  expect(runScript("check-manifests.mjs", root).stdout).toBe("1 manifests name https://example.org/new\n");
  expect(runScript("check-docs.mjs", root)).toMatchObject({ code: 0, stderr: "" });
  expect(readFileSync(join(root, "packages/sound/README.md"), "utf8")).not.toContain(address);
});

test("a README that npm shows leads out of its package by full addresses, to pages that exist", () => {
  const root = tree({ "packages/sound": manifest("packages/sound") });
  expect(runScript("check-docs.mjs", root)).toMatchObject({ code: 0, stderr: "" });
  const spoilt = scratchTree({
    "package.json": { private: true, repository: { url: `git+${address}.git` } },
    "README.md": "# All\n",
    "packages/a/package.json": manifest("packages/a"),
    "packages/a/README.md": `# A\n\n[all](../../README.md)\n\n[gone](${address}/blob/main/gone.md) [here](#a)\n`,
  });
  expect(runScript("check-docs.mjs", spoilt).stderr.trim().split("\n")).toEqual([
    `packages/a/README.md:3 links to ../../README.md, which npm does not show: write ${address}/blob/main/README.md`,
    `packages/a/README.md:5 links to ${address}/blob/main/gone.md, which does not exist`,
  ]);
});
