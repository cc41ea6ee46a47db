/** Whether somebody pipes something in, without waiting for a pipe that nobody will ever write to. */
import { fstatSync } from "node:fs";

/** A socket is what another program leaves open without meaning it; a shell's pipe or a file is meant. */
const SOCKET_PATIENCE_MS = 1000;

export interface PipedStdin extends AsyncIterable<Buffer | string> {
  readonly fd: number;
  once(event: "readable" | "end", listener: () => void): unknown;
  off(event: "readable" | "end", listener: () => void): unknown;
}

/** What stdin is: `none` for a terminal or a device, `meant` for a pipe or file, `perhaps` for anything else. */
export function pipedInput({ fd }: { readonly fd: number }): "none" | "meant" | "perhaps" {
  try {
    const stat = fstatSync(fd);
    if (stat.isFIFO() || stat.isFile()) return "meant";
    return stat.isSocket() ? "perhaps" : "none";
  } catch {
    return "none";
  }
}

/** Resolves to whether there is something to read, or an end, within the time a socket is given. */
export function hasInput(stdin: PipedStdin): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (present: boolean) => {
      clearTimeout(timer);
      stdin.off("readable", onReadable);
      stdin.off("end", onEnd);
      resolve(present);
    };
    const onReadable = () => settle(true);
    const onEnd = () => settle(false);
    const timer = setTimeout(() => settle(false), SOCKET_PATIENCE_MS);
    stdin.once("readable", onReadable);
    stdin.once("end", onEnd);
  });
}
