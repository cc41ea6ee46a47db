import { existsSync } from "node:fs";

/** The command line that runs a shell command; bash where it is, because people and models write for it. */
export function shell(command: string): [file: string, ...args: string[]] {
  // With a socket as its input, as Node gives one, bash takes itself for a remote shell and would run the person's start-up files.
  return existsSync("/bin/bash") ? ["/bin/bash", "--norc", "-c", command] : ["/bin/sh", "-c", command];
}
