/** The workspace of one turn: files from the disk or the editor, each write and command announced to the snapshots. */
import { readFile, writeFile } from "node:fs/promises";
import type { ClientTerminal, Workspace } from "@chimera/acp-schema/agent";
import { limits } from "./limits.js";

/** Reads and writes of text files; the host passes the disk, a connection may offer its editor's buffers. */
export interface Files {
  readText(path: string): Promise<string>;
  writeText(path: string, text: string): Promise<void>;
}

/** The disk as it is. */
export const plainFiles: Files = {
  readText: (path) => readFile(path, "utf8"),
  writeText: (path, text) => writeFile(path, text),
};

/** What a connected client does in the place of this machine. It goes when the connection does. */
export interface ClientEffects {
  /** Reads end with the signal, whether the client answers or not. Writes do not, because what they did to the file is part of the turn. */
  readonly readText?: (path: string, signal?: AbortSignal) => Promise<string>;
  readonly writeText?: Files["writeText"];
  readonly terminal?: ClientTerminal;
  /** True once the client cannot be reached: the call that found out fails, later ones run here. */
  readonly gone?: boolean;
}

/** Called before files change. */
export interface ChangeWatch {
  willWrite(path: string): Promise<void>;
  willRun: Workspace["willRun"];
}

/** A session's workspace, and when nothing is being written in it. */
export interface SessionWorkspace extends Workspace {
  /** Resolves when writes that have begun are done, even if their callers stopped waiting: what they did is part of the turn. */
  written(): Promise<void>;
}

export function composeWorkspace(parts: {
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly disk: Files;
  /** The effects of the client that is attached now; read at every call, because connections come and go. */
  readonly client: () => ClientEffects | undefined;
  /** Called when a file is about to be looked for here that a client answered for before. */
  readonly onClientLost: () => void;
  readonly watch: ChangeWatch;
  /** Of the turn that runs. */
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
      // Once more, right before it is written: the turn that announced it may have ended since.
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
