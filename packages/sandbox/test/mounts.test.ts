// File systems mounted in odd places, under odd names and over each other, in a namespace of the test's own.
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMMAND_PATH, confinements, visiblePlace } from "./confinements.js";

/** Makes the mounts below the given directory, then executes the rest of its arguments. */
const ODD_MACHINE = `
here=$PWD; cd "$1" || exit
fs() { mkdir -p "$1" && mount -t tmpfs -o "\${2:-defaults}" odd "$1" && chmod 777 "$1"; }
for name in 'a b' 'tab\tx' 'line
end' 'back\\\\slash' '\\\\040' 'ha#sh' "quo'te\\"s" ünï; do fs "odd/$name" || exit; done
fs flags nosuid,nodev,noexec,noatime
fs twice && fs twice
fs under/deep && fs under && mkdir under/deep && chmod 777 under/deep
fs closed && fs closed/in && chmod 700 closed
i=0; while [ $i -lt 60 ]; do fs many/$i && i=$((i+1)) || exit; done
fs ws/volume && fs ws/volume/inner nosuid,nodev,noexec,noatime && fs ws/.git/objects && touch file ws/file && mount --bind file ws/file
mount -t tmpfs -o ro sealed ws/sealed
shift; cd "$here"
exec "$@"
`;

/** Runs one command in that workspace, and prints its output. */
const PROGRAM = `
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createSandbox } from "@chimera/sandbox";
const [cwd, path, commandPath, mode, command] = process.argv.slice(1);
const sandbox = createSandbox({ mode, osSandbox: "on", workspace: { cwd }, stateDir: "/nonexistent", home: "/nonexistent", env: { PATH: path }, log() {} });
const confined = await sandbox.confine(command, { env: { PATH: commandPath } });
const child = spawn(confined.file, confined.args, { ...confined.options, stdio: ["ignore", "inherit", "inherit", ...confined.options.stdio.slice(3)] });
process.exitCode = (await once(child, "close"))[0];
confined.release();
`;

describe.each(confinements)("$name", ({ path, tags }) => {
  let base: string;
  beforeAll(() => {
    base = mkdtempSync(join(visiblePlace(), "mounts-"));
    chmodSync(base, 0o755);
    for (const place of ["ws/.git/hooks", "ws/sealed"]) mkdirSync(join(base, place), { recursive: true });
    writeFileSync(join(base, "ws/.git/hooks/old"), "");
    writeFileSync(join(base, "ws/.git/config"), "");
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  async function run(mode: string, command: string): Promise<string> {
    const machine = ["--map-root-user", "--mount", "--", "/bin/sh", "-c", ODD_MACHINE, "machine", base];
    const node = [process.execPath, "--input-type=module", "-e", PROGRAM, join(base, "ws"), path, COMMAND_PATH, mode];
    const { stdout } = await promisify(execFile)("unshare", [...machine, ...node, command], {
      cwd: import.meta.dirname,
    });
    return stdout;
  }

  const WRITE_ALL = `find ${"$PWD"}/.. -type d 2>/dev/null | while read -r d; do touch "$d/probe" 2>/dev/null && echo "$d"; done; touch ../odd/*/probe 2>/dev/null && echo ESCAPED; true`;

  test("no file system can be written in read-only mode", { tags }, async () => {
    expect(await run("read-only", WRITE_ALL)).toBe("");
  });

  test("the workspace and the file systems in it can be written, but its protected places cannot", {
    tags,
  }, async () => {
    const written = (await run("workspace-write", WRITE_ALL)).trim().split("\n");
    const places = [...new Set(written)].map((place) => place.replace(/^.*\/ws\/\.\./, "")).sort();
    expect(places).toEqual(["/ws", "/ws/.git", "/ws/.git/objects", "/ws/volume", "/ws/volume/inner"]);
    expect(await run("workspace-write", "echo new > file && cat file; touch sealed/x; touch .git/hooks/x; true")).toBe(
      "new\n",
    );
  });
});
