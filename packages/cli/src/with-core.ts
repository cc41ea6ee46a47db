import { type Invocation, type OpenCore, openCore } from "@chimera/host";

/** Opens a core, runs the work, and closes the core. */
export async function withCore<T>(invocation: Invocation, work: (opened: OpenCore) => Promise<T>): Promise<T> {
  const opened = await openCore(invocation);
  try {
    return await work(opened);
  } finally {
    await opened.core.close();
  }
}
