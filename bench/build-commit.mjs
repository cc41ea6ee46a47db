#!/usr/bin/env node
// A commit of this repository, checked out and built beside this one: `node bench/build-commit.mjs b06a4b9` prints where. The
// build stays in the user's cache, by the commit's whole hash, so that the second time costs nothing.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isProgram, repositoryRoot as root } from "../scripts/gate.mjs";
import { run } from "../scripts/run.mjs";

/**
 * Each commit builds itself, by its own `npm run build`.
 *
 * @param {string} commit anything git takes for one
 * @returns {Promise<{ hash: string, directory: string }>}
 */
export async function buildCommit(commit) {
  const hash = await resolveCommit(commit);
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const directory = join(cache, "chimera", "builds", hash);
  const built = `${directory}.built`;
  if (existsSync(built)) return { hash, directory };
  process.stderr.write(`building ${hash.slice(0, 7)}, a minute or two\n`);
  rmSync(directory, { recursive: true, force: true });
  // A clone that borrows this one's objects: a worktree would be known to git until somebody prunes it.
  await must("git", ["clone", "--quiet", "--shared", "--no-checkout", root, directory]);
  await must("git", ["checkout", "--quiet", "--detach", hash], directory);
  await must(process.execPath, ["scripts/bootstrap.mjs", "build"], directory);
  writeFileSync(built, "");
  return { hash, directory };
}

// --- internal ---

async function resolveCommit(commit) {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${commit}^{commit}`];
  const { code, stdout } = await run("git", args, { cwd: root });
  if (code !== 0)
    throw new Error(`${commit} is not a commit of this clone; a shallow one gets it by git fetch --unshallow`);
  return stdout.trim();
}

async function must(command, args, cwd = root) {
  const { code, output } = await run(command, args, { cwd });
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${output.trim().slice(-4000)}`);
}

if (isProgram(import.meta)) {
  const [commit, ...rest] = process.argv.slice(2);
  if (commit === undefined || rest.length > 0) {
    console.error("usage: node bench/build-commit.mjs <commit>");
    process.exitCode = 2;
  } else {
    await buildCommit(commit).then(
      ({ directory }) => console.log(directory),
      (error) => {
        console.error(error.message);
        process.exitCode = 1;
      },
    );
  }
}
