/** Makes a row's `load`: the code behind a command, wrapped so that expected failures are told in one line. */
import type { Run } from "@chimera/host";

export function loaded(code: () => Promise<Run>): () => Promise<Run> {
  return async () => {
    const [{ reported }, run] = await Promise.all([import("../reported.js"), code()]);
    return reported(run);
  };
}
