/** The workspace of one turn: files from the disk or the editor, each write and command announced to the snapshots. */
import { readFile, writeFile } from "node:fs/promises";
import type { ClientTerminal, Workspace } from "@chimera/acp-schema/agent";

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
  /** Ends with the signal, whether the client answers or not. A write does not: what it did to the file is part of the turn. */
  readonly readText?: (path: string, signal?: AbortSignal) => Promise<string>;
  readonly writeText?: Files["writeText"];
  readonly terminal?: ClientTerminal;
  /** True once the client cannot be reached: the call that found out fails, later ones run here. */
  readonly gone?: boolean;
}

/** Told before files change. */
export interface ChangeWatch {
  willWrite(path: string): Promise<void>;
  willRun: Workspace["willRun"];
}

export function composeWorkspace(parts: {
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly disk: Files;
  /** The effects of whoever is attached now; asked at every call, because connections come and go. */
  readonly client: () => ClientEffects | undefined;
  /** Told when a file is about to be looked for here that a client answered for before. */
  readonly onClientLost: () => void;
  readonly watch: ChangeWatch;
  /** Of the turn that runs. */
  readonly signal: () => AbortSignal | undefined;
}): Workspace {
  const { cwd, directories, disk, client, watch } = parts;
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
    writeText: async (path, text) => (files().writeText ?? disk.writeText)(path, text),
    willWrite: watch.willWrite,
    willRun: watch.willRun,
    get terminal() {
      return client()?.terminal as ClientTerminal;
    },
  };
}
