/** `backup` and `restore`: all stored data as one archive. A server may continue to write during a backup. */
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Invocation, isDatabase, readConfig, UsageError } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { CliError } from "../errors.js";
import { printReport } from "../output.js";

/**
 * Left out: claims, which would lock the sessions of a copy; the list of running servers; people's tokens. A log is append-only and each
 * record has a checksum, so at worst the copy ends with an incomplete record, which the store removes when it opens the log.
 */
const LEFT_OUT = ["./run", "./people.json", "*/claim*", "claim*", "*.draft", "*.heartbeat"];

export async function backUp(invocation: Invocation): Promise<number> {
  const file = resolve(invocation.process.cwd(), requireOperand(invocation, "the file to write"));
  const { root } = requireFiles(invocation);
  if (existsSync(file)) throw new UsageError(`${file} exists already: name another file`);
  if (!existsSync(root)) throw new CliError("not_found", `there is nothing to back up: ${root} does not exist`);
  const draft = `${file}.draft`;
  try {
    // Ignore files that a server changes or removes meanwhile: the backup has the state just before.
    const quiet = (await isGnu()) ? ["--warning=no-file-changed", "--warning=no-file-removed"] : [];
    const leftOut = LEFT_OUT.map((one) => `--exclude=${one}`);
    await tar(["-czf", draft, ...quiet, ...leftOut, "-C", root, "."], quiet.length > 0 ? [0, 1] : [0]);
    chmodSync(draft, 0o600);
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
  return printReport(invocation, { file, root }, [
    `${root} is backed up in ${file}; give people new tokens after a restore`,
  ]);
}

export async function restore(invocation: Invocation): Promise<number> {
  const file = resolve(invocation.process.cwd(), requireOperand(invocation, "the backup"));
  const { root } = requireFiles(invocation);
  if (!existsSync(file)) throw new CliError("not_found", `there is no ${file}`);
  const present = existsSync(root) ? readdirSync(root).filter((name) => name !== "run") : [];
  if (present.length > 0) throw new UsageError(`${root} is not empty: move it away first, or set CHIMERA_HOME`);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  await tar(["-xzf", file, "--no-same-owner", "-C", root], [0]);
  return printReport(invocation, { file, root }, [`${file} is restored to ${root}`]);
}

// --- internal ---

function requireFiles(invocation: Invocation): { readonly root: string } {
  const { paths, values } = readConfig(invocation);
  if (!paths.isStoreElsewhere) return paths;
  const sessions = isDatabase(values.store)
    ? "sessions are in a database: back it up with pg_dump"
    : `sessions are in ${dirname(paths.eventlog)}: archive that directory too`;
  throw new UsageError(`${sessions}, and this directory with --store file:${paths.root}`);
}

/** Only GNU tar has names for its warnings, and exits with 1 for files that change while it reads them. */
async function isGnu(): Promise<boolean> {
  return (await tar(["--version"], [0])).includes("GNU tar");
}

/** @param fine exit codes that count as success @returns what it printed */
function tar(args: readonly string[], fine: readonly number[]): Promise<string> {
  return new Promise((done, fail) => {
    const child = spawn("tar", args, { stdio: ["ignore", "pipe", "pipe"] });
    let [printed, said] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-2000);
    });
    child.once("error", (cause) => fail(new CliError("failed", "tar could not be started: install it", { cause })));
    child.once("close", (code) => {
      if (fine.includes(code ?? -1)) return done(printed);
      fail(new CliError("failed", `tar failed: ${said.trim() || `exit code ${code}`}`));
    });
  });
}
