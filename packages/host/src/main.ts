/** From a profile and its commands to a process: argv in, exit code out. Nothing but the chosen command is loaded. */
import type { Command } from "./command/command.js";
import type { Profile } from "./profile.js";

const MINIMUM_NODE = [20, 19] as const;

export interface MainOptions {
  /** Runs when no command is named: nothing was typed, or options come first, as in `otter -p PROMPT`. Help otherwise. */
  readonly fallback?: Command;
}

/** Exit codes: 0 ok, 1 failed, 2 usage, 70 a fault of our own. */
export function createMain(profile: Profile, commands: readonly Command[], options: MainOptions = {}) {
  return async (process: NodeJS.Process): Promise<void> => {
    const code = await run(profile, commands, options, process).catch((error) => report(profile, error, process));
    process.exitCode = code;
    await drained(process.stdout);
    process.exit(code);
  };
}

// --- internal ---

async function run(
  profile: Profile,
  commands: readonly Command[],
  { fallback }: MainOptions,
  process: NodeJS.Process,
): Promise<number> {
  if (tooOld(process.versions.node)) {
    const needed = MINIMUM_NODE.join(".");
    process.stderr.write(`${profile.name}: needs Node ${needed} or newer; this is ${process.version}\n`);
    return 1;
  }
  const argv = process.argv.slice(2);
  const [name, ...rest] = argv;
  if (name === "--version" || name === "-V") {
    process.stdout.write(`${profile.name} ${profile.version}\n`);
    return 0;
  }
  if (name === "--help" || name === "-h" || name === "help" || (name === undefined && !fallback)) {
    const { programHelp } = await import("./command/help.js");
    process.stdout.write(programHelp(profile, commands, fallback && (await completed(profile, fallback))));
    return 0;
  }
  const command = commands.find((candidate) => candidate.name === name);
  if (command) return runCommand(profile, command, rest, process);
  if (fallback && (name === undefined || name.startsWith("-"))) return runCommand(profile, fallback, argv, process);
  const { nearest } = await import("./command/nearest.js");
  const kind = name!.startsWith("-") ? "option" : "command";
  const names = commands.map((candidate) => candidate.name);
  const close = nearest(name!.replace(/^-+/, ""), names);
  const hint = close ? `; did you mean ${close}?` : `; see ${profile.name} --help`;
  process.stderr.write(`${profile.name}: unknown ${kind} ${JSON.stringify(name)}${hint}\n`);
  return 2;
}

async function runCommand(
  profile: Profile,
  row: Command,
  argv: readonly string[],
  process: NodeJS.Process,
): Promise<number> {
  const command = await completed(profile, row);
  const { parseCommand } = await import("./command/parse.js");
  const { flags, operands } = parseCommand(profile.name, command, argv);
  if (flags["help"]) {
    const { commandHelp } = await import("./command/help.js");
    process.stdout.write(commandHelp(profile, command));
    return 0;
  }
  // When nobody reads what is said any more, that is no reason to end.
  process.stderr.on("error", () => {});
  process.on("uncaughtException", async (error: NodeJS.ErrnoException) => {
    // `… | head` has seen enough.
    process.exit(error.code === "EPIPE" ? 0 : await report(profile, error, process));
  });
  const start = await command.load();
  return start({ profile, flags, operands, process });
}

/** A command with the flags of the program's extensions, where it takes them. */
async function completed({ settings, flags }: Profile, row: Command): Promise<Command> {
  if (!row.startsSessions) return row;
  const { flagsOf } = await import("./config/flags.js");
  return { ...row, flags: { ...row.flags, ...flagsOf(settings), ...flags } };
}

function tooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor < MINIMUM_NODE[1]);
}

async function report(profile: Profile, error: unknown, process: NodeJS.Process): Promise<number> {
  const { isUsageError } = await import("./command/usage-error.js");
  if (isUsageError(error)) {
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  // What the system refuses (a directory, a disk) is no fault of ours.
  const isRefusal = error instanceof Error && "syscall" in error;
  process.stderr.write(`${profile.name}: ${isRefusal ? message : (stack ?? message)}\n`);
  return isRefusal ? 1 : 70;
}

/** A bare exit drops what a pipe has not taken yet; waits for it, two seconds at most. */
function drained(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    setTimeout(resolve, 2000).unref();
    stream.write("", () => resolve());
  });
}
