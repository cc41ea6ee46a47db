/** Runs a program as a process: takes argv and sets the exit code. */
import { closeSync, fstatSync } from "node:fs";
import { orElse } from "@chimera/acp-schema/lenient";
import { type Command, completeCommand, type Program, wholeProgram } from "./command/command.js";
import { parseCommand } from "./command/parse.js";
import { isUsageError, nearest } from "./command/usage-error.js";
import { tellVersion } from "./version.js";

const MINIMUM_NODE = [20, 19] as const;

/** Exit codes: 0 ok, 1 failed, 2 usage, 70 a fault in the program. */
export function createMain(program: Program) {
  return async (process: NodeJS.Process): Promise<void> => {
    if (tellVersion(program.profile, process)) return;
    process.on("exit", leaveDeadTerminal);
    const calledAs = callOf(program, process);
    const code = await run(program, calledAs, process).catch((error) => report(calledAs, error, process));
    process.exitCode = code;
    await drained(process.stdout);
    process.exit(code);
  };
}

// --- internal ---

/** How the person called the program. A command with several programs, such as `chimera`, sets argv[1] to its own name and the program's. */
function callOf({ profile: { name } }: Program, { argv: [, script = ""] }: NodeJS.Process): string {
  return script.endsWith(` ${name}`) ? script : name;
}

async function run(program: Program, calledAs: string, process: NodeJS.Process): Promise<number> {
  if (tooOld(process.versions.node)) {
    const needed = MINIMUM_NODE.join(".");
    process.stderr.write(`${calledAs}: needs Node ${needed} or newer; this is ${process.version}\n`);
    return 1;
  }
  surviveClosedPipes(calledAs, process);
  const argv = asked(process.argv.slice(2));
  const [name, ...rest] = argv;
  const atHand = program.commands.find((candidate) => candidate.name === name);
  if (atHand) return runCommand(program, calledAs, atHand, rest, process);
  return runOther(await wholeProgram(program), calledAs, argv, process);
}

async function runOther(
  program: Program,
  calledAs: string,
  argv: readonly string[],
  process: NodeJS.Process,
): Promise<number> {
  const { commands, fallback } = program;
  const [name, ...rest] = argv;
  if (name === "--help" || name === "-h" || (name === undefined && !fallback)) {
    const { programHelp } = await import("./command/help.js");
    process.stdout.write(programHelp(program, calledAs));
    return 0;
  }
  const command = commands.find((candidate) => candidate.name === name);
  if (command) return runCommand(program, calledAs, command, rest, process);
  // No command has a space in its name, so a word with spaces is a prompt.
  if (fallback && (name === undefined || name.startsWith("-") || /\s/.test(name))) {
    return runCommand(program, calledAs, fallback, argv, process);
  }
  const kind = name!.startsWith("-") ? "option" : "command";
  const names = commands.map((candidate) => candidate.name);
  const close = nearest(name!.replace(/^-+/, ""), names);
  const hint = close ? `; did you mean ${close}?` : `; see ${calledAs} --help`;
  process.stderr.write(`${calledAs}: unknown ${kind} ${JSON.stringify(name)}${hint}\n`);
  return 2;
}

/** `help serve` is `serve --help`. */
function asked(argv: readonly string[]): readonly string[] {
  const [name, ...rest] = argv;
  return name === "help" ? [...rest, "--help"] : argv;
}

async function runCommand(
  program: Program,
  calledAs: string,
  row: Command,
  argv: readonly string[],
  process: NodeJS.Process,
): Promise<number> {
  const { profile } = program;
  const where = [calledAs, row.name].filter(Boolean).join(" ");
  try {
    const command = completeCommand(profile, row);
    const others = row === program.fallback ? program.commands.map(({ name }) => name) : [];
    const { flags, operands } = await parseCommand(command, argv, others);
    if (flags["help"]) {
      const { commandHelp } = await import("./command/help.js");
      process.stdout.write(commandHelp(profile, command, calledAs));
      return 0;
    }
    const run = await command.load();
    return await run({ program, profile, calledAs, where, flags, operands, process });
  } catch (error) {
    return report(where, error, process);
  }
}

function surviveClosedPipes(name: string, process: NodeJS.Process): void {
  // The program continues when its stderr is closed.
  process.stderr.on("error", () => {});
  process.on("uncaughtException", async (error: NodeJS.ErrnoException) => {
    // EPIPE: the reader of a pipe, as in `… | head`, has closed it.
    process.exit(error.code === "EPIPE" ? 0 : await report(name, error, process));
  });
}

/**
 * Closes a terminal that is gone: Node 20 aborts at exit when it cannot restore the terminal that it was started on. Pipes and sockets stay
 * open, because Node makes those that other processes share block again when it exits.
 */
function leaveDeadTerminal(): void {
  const { isatty } = process.getBuiltinModule("node:tty");
  const isGone = (fd: number) => fstatSync(fd).isCharacterDevice() && !isatty(fd);
  for (const fd of [0, 1, 2]) if (orElse(() => isGone(fd), false)) orElse(() => closeSync(fd), undefined);
}

function tooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor < MINIMUM_NODE[1]);
}

async function report(where: string, error: unknown, process: NodeJS.Process): Promise<number> {
  if (isUsageError(error)) {
    process.stderr.write(`${where}: ${error.message}\n`);
    return 2;
  }
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  // An error of the system, such as a missing directory or a full disk, is not a bug in the program.
  const isRefusal = error instanceof Error && "syscall" in error;
  process.stderr.write(`${where}: ${isRefusal ? message : (stack ?? message)}\n`);
  return isRefusal ? 1 : 70;
}

/** Waits, for two seconds at most, until a stream is written: `process.exit` drops what a pipe has not taken yet. */
function drained(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    setTimeout(resolve, 2000).unref();
    stream.write("", () => resolve());
  });
}
