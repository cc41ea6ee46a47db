/** A throw-away workspace with a store beside it. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import {
  createSnapshotStore,
  type Direction,
  type RestoreLog,
  type RestoreOptions,
  type SessionSnapshots,
  type SnapshotStore,
  type SnapshotStoreOptions,
} from "../src/index.js";

/** What a session's log says of its turns, as far as undo is concerned. */
export interface Log {
  /** Oldest first. */
  undo: number[];
  /** The next one to redo last. */
  redo: number[];
}

type Go = (options?: Omit<RestoreOptions, "after"> & { readonly steps?: number }) => Promise<{
  readonly turns: readonly number[];
  readonly files: Awaited<ReturnType<SessionSnapshots["restore"]>>["files"];
  readonly conflicts: readonly string[];
}>;

export type Rewindable = SessionSnapshots & Readonly<Record<Direction, Go>>;

/** Snapshots with a log beside them, which knows what can be undone and redone, as a session has one. */
export function rewindable(session: SessionSnapshots, log: Log = { undo: [], redo: [] }): Rewindable {
  let number = -1;
  const go =
    (direction: Direction): Go =>
    async ({ steps = 1, force = false, dryRun = false } = {}) => {
      const turns = log[direction].slice(-steps).reverse();
      const { files, conflicts, keep } = await session.restore(turns, direction, { after: 0, force, dryRun });
      await keep();
      if (!dryRun) {
        log[direction].splice(-turns.length, turns.length);
        log[direction === "undo" ? "redo" : "undo"].push(...turns);
      }
      return { turns, files, conflicts };
    };
  return {
    ...session,
    beginTurn(turn) {
      number = turn;
      session.beginTurn(turn);
    },
    endTurn() {
      log.undo.push(number);
      log.redo = [];
      return session.endTurn(new Set(log.undo));
    },
    undo: go("undo"),
    redo: go("redo"),
  };
}

export interface Fixture {
  readonly base: string;
  readonly ws: string;
  readonly out: string;
  readonly root: string;
  readonly store: SnapshotStore;
  readonly session: Rewindable;
  readonly log: Log;
  path(name: string): string;
  write(name: string, content: string | Buffer, mode?: number): void;
  read(name: string): string;
  /** Every entry of the workspace: kind, mode and content. */
  tree(directory?: string): Record<string, string>;
  /** A turn in which a tool writes files. */
  toolTurn(turn: number, files: Record<string, string | null>): Promise<void>;
  /** A turn in which a shell command runs. */
  shellTurn(turn: number, script: string): Promise<void>;
  /** The same session as another process would open it. */
  reopened(recorded?: RestoreLog["recorded"]): Rewindable;
}

/** A place without a disk where there is one: a test that kills a process fifty times need not wait for fifty syncs. */
export const memory = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export function fixture(options: Partial<SnapshotStoreOptions> = {}, place = tmpdir()): Fixture {
  const base = realpathSync(mkdtempSync(join(place, "snapshot-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const ws = join(base, "ws");
  const out = join(base, "out");
  const root = join(base, "store");
  mkdirSync(ws);
  mkdirSync(out);
  writeFileSync(join(out, "canary"), "canary");
  const store = createSnapshotStore({ root, ...options });
  const log: Log = { undo: [], redo: [] };
  const session = rewindable(store.session("otter-1", { cwd: ws, directories: [] }), log);
  const path = (name: string) => join(ws, name);
  return {
    base,
    ws,
    out,
    root,
    store,
    session,
    log,
    path,
    write(name, content, mode) {
      mkdirSync(dirname(path(name)), { recursive: true });
      writeFileSync(path(name), content, mode === undefined ? {} : { mode });
    },
    read: (name) => readFileSync(path(name), "utf8"),
    tree: (directory = ws) => treeOf(directory),
    async toolTurn(turn, files) {
      session.beginTurn(turn);
      for (const [name, content] of Object.entries(files)) {
        await session.willWrite(path(name));
        if (content === null) rmSync(path(name));
        else {
          mkdirSync(dirname(path(name)), { recursive: true });
          writeFileSync(path(name), content);
        }
      }
      await session.endTurn();
    },
    async shellTurn(turn, script) {
      session.beginTurn(turn);
      const done = await session.willRun();
      execFileSync("sh", ["-c", script], { cwd: ws });
      await done();
      await session.endTurn();
    },
    reopened(recorded = async () => false) {
      const again = createSnapshotStore({ root, ...options });
      return rewindable(again.session("otter-1", { cwd: ws, directories: [] }, { requireHeld() {}, recorded }), log);
    },
  };
}

/** Names as latin1, so that any byte shows. */
export function treeOf(directory: string | Buffer, prefix = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const bytes of readdirSync(directory, { encoding: "buffer" })) {
    const address = Buffer.concat([Buffer.from(directory), Buffer.from("/"), bytes]);
    const name = prefix + bytes.toString("latin1");
    const stat = lstatSync(address);
    const mode = (stat.mode & 0o7777).toString(8);
    if (stat.isSymbolicLink()) found[name] = `link ${readlinkSync(address)}`;
    else if (stat.isDirectory()) Object.assign(found, { [name]: `dir ${mode}` }, treeOf(address, `${name}/`));
    else found[name] = stat.isFile() ? `file ${mode} ${readFileSync(address, "latin1")}` : "special";
  }
  return found;
}
