// Makes the process's own stdin and stdout the two streams of a connection.

import type { InputStream, OutputStream } from "./channel.js";

/** The parts of `process` that `takeOverStdio` uses. */
export interface StdioProcess {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly ppid: number;
}

export interface Stdio {
  readonly input: InputStream;
  readonly output: OutputStream;
  /** Gives stdout back and stops watching the parent. */
  release(): void;
}

const PARENT_CHECK_MS = 1000;

/**
 * Reserves stdout for the connection: from now on `console.*` and stray `process.stdout.write` calls go to stderr, and only `output`
 * writes to the real stdout. If the parent process vanishes without closing stdin, the input ends within a second.
 *
 * @example
 * const { input, output } = takeOverStdio();
 * const connection = createConnection({ channel: streamChannel(input, output), methods });
 */
export function takeOverStdio(target: StdioProcess = process): Stdio {
  const { stdin, stdout } = target;
  const realWrite = stdout.write;
  let guarded = false;
  stdout.write = ((...args: Parameters<typeof stdout.write>) => {
    // The process must survive when nobody reads stderr. Added on the first write, so that a quiet process never opens stderr.
    if (!guarded) target.stderr.on("error", () => {});
    guarded = true;
    return target.stderr.write(...args);
  }) as typeof stdout.write;

  const parent = target.ppid;
  const watch = setInterval(() => {
    if (target.ppid !== parent) stdin.destroy();
  }, PARENT_CHECK_MS);
  watch.unref();

  return {
    input: stdin,
    output: {
      write: (text, done) => realWrite.call(stdout, text, "utf8", done),
      // The process ends stdout when it exits. Ending it here would break a later `console.log` of the host.
      end: () => {},
      on: (event: "error" | "close", listener: (error: Error) => void) => stdout.on(event, listener),
    },
    release() {
      clearInterval(watch);
      stdout.write = realWrite;
    },
  };
}
