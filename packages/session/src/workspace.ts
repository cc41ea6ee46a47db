/** The workspace of a session: files of the disk or of an editor. Announces every write and command to the snapshots. */
import { readFile, writeFile } from "node:fs/promises";
import type { ClientTerminal, Workspace } from "@chimera/acp-schema/agent";
import { limits } from "./limits.js";

/** Reads and writes text files: on the disk, or in the buffers of an editor. */
export interface Files {
  readText(path: string): Promise<string>;
  writeText(path: string, text: string): Promise<void>;
}

/** The files of the disk, without any check of paths. */
export const plainFiles: Files = {
  readText: (path) => readFile(path, "utf8"),
  writeText: (path, text) => writeFile(path, text),
};

/** The files and the terminal that a client lends in place of this machine's, until it disconnects. */
export interface ClientEffects {
  /** A read ends with the signal, even if the client does not answer. A write does not, because the change of the file is part of the turn. */
  readonly readText?: (path: string, signal?: AbortSignal) => Promise<string>;
  readonly writeText?: Files["writeText"];
  readonly terminal?: ClientTerminal;
  /** True if the client can no longer be reached. The call that notices it fails; later calls use this machine. */
  readonly gone?: boolean;
}

/** Called before files change. */
export interface ChangeWatch {
  willWrite(path: string): Promise<void>;
  willRun: Workspace["willRun"];
}

/** A session's workspace, which also knows when its writes are done. */
export interface SessionWorkspace extends Workspace {
  /** Resolves when all writes that have begun are done, also those whose callers stopped waiting: they are part of the turn. */
  written(): Promise<void>;
}

export function composeWorkspace(parts: {
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly disk: Files;
  /** The effects of the client that is attached now. Called for every read and write, because clients come and go. */
  readonly client: () => ClientEffects | undefined;
  /** Called before the first use of the disk after a client that lent its files has gone. */
  readonly onClientLost: () => void;
  readonly watch: ChangeWatch;
  /** The signal of the running turn. */
  readonly signal: () => AbortSignal | undefined;
}): SessionWorkspace {
  const { cwd, directories, disk, client, watch } = parts;
  const writes = new Set<Promise<void>>();
  let lent = false;
  const files = (): Pick<ClientEffects, "readText" | "writeText"> => {
    const effects = client();
    const lends = Boolean(effects?.readText ?? effects?.writeText);
    if (lent && !lends) parts.onClientLost();
    lent = lends;
    return effects ?? {};
  };
  return {
    cwd,
    directories,
    readText: async (path) => (files().readText ?? disk.readText)(path, parts.signal()),
    async writeText(path, text) {
      // Announced once more, right before the write: the turn that announced it first may have ended since.
      await watch.willWrite(path);
      const writing = (files().writeText ?? disk.writeText)(path, text);
      writes.add(writing);
      await writing.finally(() => writes.delete(writing));
    },
    async written() {
      if (writes.size === 0) return;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, limits.lateWriteMs);
      });
      await Promise.race([Promise.allSettled(writes), late]);
      clearTimeout(timer);
    },
    willWrite: watch.willWrite,
    willRun: watch.willRun,
    get terminal() {
      return client()?.terminal as ClientTerminal;
    },
  };
}
