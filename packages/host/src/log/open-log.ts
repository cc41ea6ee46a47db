/** The log of a process: stderr, and the file that was asked for. */
import type { Invocation } from "../command/command.js";
import { UsageError } from "../command/usage-error.js";
import type { ConfigValues } from "../config/keys.js";
import { envName } from "../profile.js";
import { createLog, type Log } from "./log.js";
import { createLogFile, type LogFile } from "./log-file.js";

/**
 * Every line names who started the program, where `OTTER_LAUNCHED_BY` or the like says so: an editor's extension sets it.
 *
 * @param secrets what no line may show, besides the keys and tokens of the environment.
 */
export function openLog(
  { profile, process }: Pick<Invocation, "profile" | "process">,
  values: Pick<ConfigValues, "log_level" | "log_file">,
  secrets: readonly string[] = [],
): Log {
  const launched_by = process.env[envName(profile, "LAUNCHED_BY")];
  const file = values.log_file === null ? null : openFile(values.log_file);
  return createLog({
    level: values.log_level,
    sinks: [
      { pretty: process.stderr.isTTY === true, write: (line) => void process.stderr.write(line) },
      ...(file ? [file] : []),
    ],
    secrets: [...secretsOf(process.env), ...secrets],
    common: launched_by ? { launched_by } : {},
  });
}

// --- internal ---

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
