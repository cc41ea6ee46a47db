/** The command line that runs a command with a fault injected into one kind of system call, in all its threads. */
export function injecting(fault, ...command) {
  const [call] = fault.split(":");
  return ["strace", ["-f", "-qq", "-o", "/dev/null", "-e", `trace=${call}`, "-e", `inject=${fault}`, ...command]];
}

/** `when=` counts per thread: one thread for the asynchronous calls makes it a count per process. */
export const oneThread = { ...process.env, UV_THREADPOOL_SIZE: "1", NODE_EXTRA_CA_CERTS: "" };
