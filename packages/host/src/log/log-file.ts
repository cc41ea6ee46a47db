/** The log of a process: stderr, and the file that the person named. */
import { closeSync, fstatSync, mkdirSync, openSync, readSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { orElse } from "@chimera/acp-schema/lenient";
import type { Invocation } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import type { ConfigValues } from "../config/keys.js";
import { envName } from "../profile.js";
import { createLog, type Log, type LogSink } from "./log.js";

export interface OpenedLog extends Log {
  /** Opens the file again by its name, after another program has moved it away. */
  reopen(): void;
  /** Sends lines for a person to `show`, which draws the terminal; null sends them to stderr again. Lines for a program are not affected. */
  divert(show: ((line: string) => void) | null): void;
}

/** How each line of a log file begins. */
const LINE_START = '{"ts":"';

export interface LogFile extends LogSink {
  close(): void;
}

export interface LogFileOptions {
  /** @defaultValue 10 MiB */
  readonly maxBytes?: number;
  /** How many old files to keep besides the current one. @defaultValue 5 */
  readonly keep?: number;
}

/** A log file of at most 10 MiB, with five older ones. Throws when it cannot be opened; later failures lose lines. */
export function createLogFile(path: string, { maxBytes = 10 * 1024 * 1024, keep = 5 }: LogFileOptions = {}): LogFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  for (const name of [path, ...Array.from({ length: keep }, (_, age) => `${path}.${age + 1}`)]) refuseForeign(name);
  let fd: number | null = openSync(path, "a", 0o600);

  const close = () => {
    if (fd !== null) closeSync(fd);
    fd = null;
  };
  const rotate = () => {
    // Another process with the same file may have moved it already.
    const isOurs = orElse(() => fd !== null && statSync(path).ino === fstatSync(fd).ino, false);
    // Close first: some systems do not rename an open file.
    close();
    if (isOurs) {
      rmSync(`${path}.${keep}`, { force: true });
      for (let age = keep - 1; age >= 1; age--) move(`${path}.${age}`, `${path}.${age + 1}`);
      move(path, `${path}.1`);
    }
    fd = openSync(path, "a", 0o600);
  };

  return {
    pretty: false,
    write(line) {
      try {
        fd ??= openSync(path, "a", 0o600);
        if (fstatSync(fd).size + line.length > maxBytes) rotate();
        writeSync(fd, line);
      } catch {
        // The disk is full or the directory is gone: the line is still on stderr, and the next one tries again.
      }
    },
    close,
  };
}

/**
 * Opens the log. Every line has the value of `OTTER_LAUNCHED_BY` or the like, with which an editor's extension names itself.
 *
 * @param secrets values that no line may show, besides the keys and tokens of the environment.
 */
export function openLog(
  { profile, process }: Pick<Invocation, "profile" | "process">,
  values: Pick<ConfigValues, "log_level" | "log_file">,
  secrets: readonly string[] = [],
): OpenedLog {
  const launched_by = process.env[envName(profile, "LAUNCHED_BY")];
  const file = values.log_file === null ? null : openFile(values.log_file);
  const isTerminal = process.stderr.isTTY === true;
  const toStderr: LogSink["write"] = (line) => void process.stderr.write(line);
  let toPerson = toStderr;
  const log = createLog({
    level: values.log_level,
    sinks: [
      { pretty: isTerminal, write: (line) => (isTerminal ? toPerson(line) : toStderr(line)) },
      ...(file ? [file] : []),
    ],
    secrets: [...secretsOf(process.env), ...secrets],
    common: launched_by ? { launched_by } : {},
  });
  // The next line opens the file by its name again.
  return {
    ...log,
    reopen: () => file?.close(),
    divert: (show) => {
      toPerson = show ?? toStderr;
    },
  };
}

// --- internal ---

/** Throws for a file that is not a log: the program must not append to it, nor rotate and remove it when it has grown. */
function refuseForeign(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile() || stats.size === 0) return;
  const file = openSync(path, "r");
  try {
    const start = Buffer.alloc(LINE_START.length);
    readSync(file, start);
    if (start.toString() !== LINE_START) throw new Error(`${path} is not a log file; name another file`);
  } finally {
    closeSync(file);
  }
}

function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

const SECRET_VARIABLE = /(_KEY|_TOKEN|_SECRET|_PASSWORD)$/;

function secretsOf(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(env).flatMap(([name, value]) => (SECRET_VARIABLE.test(name) && value ? [value] : []));
}

function openFile(path: string): LogFile {
  try {
    return createLogFile(path);
  } catch (error) {
    throw new UsageError(`--log-file: ${(error as Error).message}`);
  }
}
