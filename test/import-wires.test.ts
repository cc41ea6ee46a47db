// Importing the providers must load few files: the wires and their dependencies are loaded with the first model.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "./scratch.js";

/** Imports an entry of the built agent in a process of its own; the scripts that loads, their bytes, and Node's own modules. */
function imported(entry: string): { scripts: string[]; bytes: number; builtins: string[] } {
  const file = join(repositoryRoot, "packages/agent/dist", entry);
  const code = `
    import { Session } from "node:inspector";
    const scripts = [];
    const session = new Session();
    session.connect();
    session.on("Debugger.scriptParsed", ({ params: { url, length } }) => scripts.push({ url, length }));
    session.post("Debugger.enable");
    scripts.length = 0;
    const before = new Set(process.moduleLoadList);
    await import(${JSON.stringify(file)});
    const loaded = scripts.filter(({ url }) => url.startsWith("file:"));
    console.log(JSON.stringify({
      scripts: loaded.map(({ url }) => url),
      bytes: loaded.reduce((sum, { length }) => sum + length, 0),
      builtins: process.moduleLoadList.filter((name) => !before.has(name)),
    }));`;
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" }));
}

test("importing the providers loads no wire, no package of others, and nothing of Node's that connects", () => {
  const { scripts, bytes, builtins } = imported("providers/index.js");
  expect(scripts.filter((url) => !/\/packages\/(?:agent|acp-schema)\/dist\//.test(url))).toEqual([]);
  // Two of them are there because others share them: what the entry of models shares, and the readers of JSON that all packages share.
  expect(scripts.length).toBeLessThanOrEqual(14);
  expect(bytes).toBeLessThan(100_000);
  expect(builtins.filter((name) => /NativeModule (?:https?|tls|net|crypto|worker_threads)$/.test(name))).toEqual([]);
});
