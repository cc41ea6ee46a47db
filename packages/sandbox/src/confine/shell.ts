import { existsSync } from "node:fs";

/** The command line that runs a shell command; bash where it is, because people and models write for it. */
export function shell(command: string): [file: string, ...args: string[]] {
  return [existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh", "-c", command];
}
