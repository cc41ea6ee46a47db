#!/usr/bin/env node
// `npm run test:changed [-- <base>]`: the quick gates; the tests of every package that changed since this branch left `base`
// (by default HEAD, so that what is not committed counts); the repository's tests that changed or name a changed file; and a
// few of the whole programs. Says what it leaves to `npm test`.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { repositoryRoot as root } from "./gate.mjs";
import { run } from "./run.mjs";
import { runTests } from "./run-tests.mjs";
import { quickGates, slowGates } from "./test.mjs";
import { listFiles, readPackages } from "./workspace.mjs";

/** The built programs over both protocols, in a few seconds. */
const smokeTests = ["test/acp-sdk.test.ts", "test/http-session.test.ts", "test/ferret-editor.test.ts"];

async function main([base = "HEAD"]) {
  const files = await changedFiles(base);
  const packages = readPackages(root);
  const changed = packages.filter(({ dir }) => files.some((path) => path.startsWith(`${dir}/`)));
  const typecheck = [...slowGates["types: packages"], ...changed.map(({ name }) => `--filter=${name}`)];
  const gates = { ...(changed.length > 0 && { "types: changed packages": typecheck }), ...quickGates };
  const tests = [...changed.map(({ dir }) => `${dir}/test/`), ...repositoryTests(files), ...smokeTests];
  await runTests(
    gates,
    [...new Set(tests)],
    [
      `changed since ${base}: ${changed.map(({ dir }) => dir).join(", ") || "no package"}`,
      `left to \`npm test\`: ${leftOut(changed, packages)}`,
    ],
  );
}

// --- internal ---

async function changedFiles(base) {
  const lists = [
    ["diff", "-z", "--name-only", "--relative", "--merge-base", "--end-of-options", base, "--"],
    ["ls-files", "-z", "--others", "--exclude-standard"],
  ];
  const outputs = lists.map(async (args) => {
    const { code, stdout, stderr } = await run("git", args, { cwd: root }).catch(({ message }) => ({
      stderr: message,
    }));
    if (code !== 0) throw new Error(`git does not say what changed since ${base}: ${stderr.trim()}`);
    return stdout.split("\0").filter(Boolean);
  });
  return (await Promise.all(outputs)).flat();
}

/** A test that changed, or in whose text a changed helper or script is named as an import or a program. */
function repositoryTests(files) {
  const named = files
    .filter((path) => /^(test|scripts|tools)\//.test(path))
    .map((path) => basename(path).replace(/\.ts$/, ".js"));
  return listFiles(root, "test", [".test.ts"]).filter((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return files.includes(path) || named.some((name) => text.includes(`${name}"`));
  });
}

function leftOut(changed, packages) {
  const tested = new Set(changed.map(({ name }) => name));
  const users = dependants(tested, packages).filter(({ name }) => !tested.has(name));
  const names = users.map(({ dir }) => basename(dir));
  return [
    names.length > 0 ? `tests of ${names.join(", ")}, which use what changed` : [],
    "most tests of the repository",
    `gates ${Object.keys(slowGates)
      .map((name) => name.split(/[: ]/)[0])
      .join(", ")}`,
  ]
    .flat()
    .join("; ");
}

/** Packages that use one of these, through any number of others. */
function dependants(names, packages) {
  const uses = ({ manifest }, all) =>
    Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).some((name) => all.has(name));
  const found = packages.filter((one) => names.has(one.name) || uses(one, names));
  const all = new Set(found.map(({ name }) => name));
  return all.size === names.size ? found : dependants(all, packages);
}

await main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  console.log("0 passed, 1 failed");
  process.exitCode = 1;
});
