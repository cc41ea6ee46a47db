// The loader of a bundle, run over small files: what `compiled/` may contain, who may write there, and which files are made again.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot, scratchTree } from "./scratch.js";

const LOADER = join(repositoryRoot, "scripts", "bundle-loader.cjs");
const BIRD = { "bird.js": 'exports.say = () => "SQUAWK";' };
const SQUAWK = 'console.log(load("./bird.js").say());';

/** Runs a script that has the files of a directory by `load`; `before` runs first. */
function run(directory: string, script: string, before = ""): string {
  const text = `${before}\nconst load = require(${JSON.stringify(LOADER)})(require, ${JSON.stringify(directory)});\n${script}`;
  const { stdout, stderr } = spawnSync(process.execPath, ["-e", text], { encoding: "utf8", timeout: 20_000 });
  return stdout + stderr;
}

/** What is kept of the bird: another number is another file. */
const kept = (directory: string) => statSync(join(directory, "compiled", "bird.bin")).ino;

test.each<[string, (path: string) => void]>([
  ["a directory", (path) => mkdirSync(path)],
  ["a device", (path) => symlinkSync("/dev/zero", path)],
  ["a pipe", (path) => execFileSync("mkfifo", [path])],
])("%s in the place of what was kept is not read", { tags: ["needs-unix"] }, (_, make) => {
  const directory = scratchTree(BIRD);
  mkdirSync(join(directory, "compiled"));
  make(join(directory, "compiled", "bird.bin"));
  expect(run(directory, SQUAWK)).toBe("SQUAWK\n");
  expect(readdirSync(join(directory, "compiled"))).toEqual(["bird.bin"]);
});

test("no other user can write the compiled files, whatever the umask is", { tags: ["needs-unix"] }, () => {
  const directory = scratchTree(BIRD);
  expect(run(directory, SQUAWK, "process.umask(0);")).toBe("SQUAWK\n");
  const modes = ["compiled", "compiled/bird.bin"].map((name) => statSync(join(directory, name)).mode & 0o022);
  expect(modes).toEqual([0, 0]);
});

test("a user who does not own the program keeps no compiled files, since its owner could not remove them", {
  tags: ["needs-unix"],
}, () => {
  const directory = scratchTree(BIRD);
  const other = "const own = process.geteuid(); process.geteuid = () => own + 1;";
  expect(run(directory, SQUAWK, other)).toBe("SQUAWK\n");
  expect(readdirSync(directory)).not.toContain("compiled");
  run(directory, SQUAWK);
  const first = kept(directory);
  expect(run(directory, SQUAWK, other)).toBe("SQUAWK\n");
  expect(kept(directory)).toBe(first);
});

// V8 looks at four numbers of its version alone, which Nodes with different patches of it share.
test.each([
  ["process", "arch"],
  ["process.versions", "v8"],
])("what was kept under another %s.%s is made anew", (owner, key) => {
  const directory = scratchTree(BIRD);
  run(directory, SQUAWK);
  const first = kept(directory);
  run(directory, SQUAWK);
  expect(kept(directory)).toBe(first);
  expect(run(directory, SQUAWK, `Object.defineProperty(${owner}, "${key}", { value: "other" });`)).toBe("SQUAWK\n");
  expect(kept(directory)).not.toBe(first);
});

test("the next writer removes drafts of a killed program, and not those still being written", () => {
  const directory = scratchTree({ ...BIRD, "compiled/bird.bin.1": "old", "compiled/bird.bin.2": "new" });
  utimesSync(join(directory, "compiled/bird.bin.1"), 0, 0);
  expect(run(directory, SQUAWK)).toBe("SQUAWK\n");
  expect(readdirSync(join(directory, "compiled")).toSorted()).toEqual(["bird.bin", "bird.bin.2"]);
});

test("files that come late are kept, without a listener for each", () => {
  const names = Array.from({ length: 12 }, (_, i) => `late-${i}`);
  const directory = scratchTree(Object.fromEntries(names.map((name) => [`${name}.js`, "exports.late = true;"])));
  const output = run(
    directory,
    `for (const name of ${JSON.stringify(names)}) { load("./" + name + ".js"); due(); }`,
    "let due; globalThis.setTimeout = (run) => { due = run; return { unref() {} }; };",
  );
  expect(output).toBe("");
  expect(readdirSync(join(directory, "compiled")).toSorted()).toEqual(names.map((name) => `${name}.bin`).toSorted());
});

test("a file that failed is run again when it is asked for again", () => {
  const directory = scratchTree({
    "once.js":
      'globalThis.tries = (globalThis.tries ?? 0) + 1; if (tries < 2) throw new Error("not yet"); exports.tries = tries;',
  });
  const output = run(
    directory,
    `try { load("./once.js"); } catch (error) { console.log(error.message); }
     console.log(load("./once.js").tries, load("./once.js").tries);`,
  );
  expect(output).toBe("not yet\n2 2\n");
});
