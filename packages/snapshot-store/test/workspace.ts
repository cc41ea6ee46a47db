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
  type SessionSnapshots,
  type SnapshotStore,
  type SnapshotStoreOptions,
} from "../src/index.js";

export interface Fixture {
  readonly base: string;
  readonly ws: string;
  readonly out: string;
  readonly root: string;
  readonly store: SnapshotStore;
  readonly session: SessionSnapshots;
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
  reopened(): SessionSnapshots;
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
  const session = store.session("otter-1", { cwd: ws, directories: [] });
  const path = (name: string) => join(ws, name);
  return {
    base,
    ws,
    out,
    root,
    store,
    session,
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
    reopened: () => createSnapshotStore({ root, ...options }).session("otter-1", { cwd: ws, directories: [] }),
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
