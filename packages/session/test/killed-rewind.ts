/** A session whose last turn is undone or redone by a process that can be killed at any call of the file system. */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore } from "@chimera/event-store";
import { createSnapshotStore, type Direction } from "@chimera/snapshot-store";
import { expect, onTestFinished } from "vitest";
import type { Agent } from "../src/index.js";
import { makeSessions, recordsOf, runPrompt } from "./fixture.js";

/** The files after each of the last two turns: null removes a file. */
const TURNS: readonly Record<string, string | null>[] = [
  { "kept.txt": "one", "gone.txt": "one" },
  { "kept.txt": "two", "gone.txt": null, "deep/made.txt": "two" },
];

/** Writes what the turn's number says; `earlier` turns before the last two write a file each. */
const writing = (earlier: number): Agent =>
  async function* ({ number }, { workspace }) {
    yield { type: "step_start", metadata: { step: 0 } };
    const files = TURNS[number - earlier] ?? { [`${number}.txt`]: "x", "kept.txt": String(number) };
    for (const [name, text] of Object.entries(files)) {
      const path = join(workspace.cwd, name);
      await workspace.willWrite(path);
      mkdirSync(dirname(path), { recursive: true });
      if (text === null) rmSync(path);
      else writeFileSync(path, text);
    }
    yield { type: "text_delta", metadata: { text: `turn ${number}` } };
    yield { type: "step_end", metadata: { step: 0 } };
  };

export interface KilledRewind {
  /** The file-system calls of an undo or redo without an interruption. */
  readonly calls: readonly string[];
  /**
   * Kills the process at a call, starts over, and checks that files, log and visible conversation say the same and that undo
   * and redo go on from there. Returns whether the undo or redo stands.
   */
  killAt(call: number): Promise<boolean>;
  /** Kills the process at a call and ends the session for good, unloaded: checks that the files are as the log says, and nothing else is left. */
  endAt(call: number, how: "delete" | "tearDown"): Promise<boolean>;
}

export async function killedRewind(direction: Direction, { earlier = 0 } = {}): Promise<KilledRewind> {
  const base = realpathSync(mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "killed-rewind-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [root, cwd, saved] = ["root", "work", "saved"].map((name) => join(base, name)) as [string, string, string];
  mkdirSync(cwd);
  const open = () => {
    const store = createFileStore<SessionEvent, Summary>({ root });
    const snapshots = createSnapshotStore({ root: join(root, "snapshots") });
    const sessions = makeSessions(writing(earlier), { store, snapshots });
    const close = async () => {
      await sessions.shutdown();
      await store.close();
    };
    return { sessions, snapshots, close };
  };
  const first = open();
  const { id } = await first.sessions.create({ cwd });
  const last = earlier + 1;
  for (let turn = 0; turn < last; turn++) await runPrompt(first.sessions, id, `turn ${turn}`);
  const back = { tree: treeOf(cwd), visible: last, redoable: [last] };
  await runPrompt(first.sessions, id, `turn ${last}`);
  const there = { tree: treeOf(cwd), visible: last + 1, redoable: [] };
  if (direction === "redo") await first.sessions.find(id)!.undo();
  await first.close();
  const [other, from, to] = direction === "undo" ? (["redo", there, back] as const) : (["undo", back, there] as const);
  for (const [place, name] of [
    [root, "root"],
    [cwd, "work"],
  ] as const)
    cpSync(place, join(saved, name), { recursive: true });

  const rewind = (env: Record<string, string>) => {
    for (const [place, name] of [
      [root, "root"],
      [cwd, "work"],
    ] as const) {
      rmSync(place, { recursive: true, force: true });
      cpSync(join(saved, name), place, { recursive: true, preserveTimestamps: true });
    }
    const fixture = (name: string) => join(import.meta.dirname, "fixtures", name);
    const args = ["--import", fixture("dying-calls.mjs"), fixture("rewinding.mjs"), root, id, direction];
    return spawnSync(process.execPath, args, { env: { PATH: process.env["PATH"], ...env }, encoding: "utf8" });
  };
  const list = join(base, "calls");
  const clean = rewind({ CALLS: list });
  expect(clean.stderr).toBe("");
  expect(treeOf(cwd)).toEqual(to.tree);

  return {
    calls: readFileSync(list, "utf8").split("\n"),
    async endAt(call, how) {
      expect(rewind({ DIE_AT: String(call) }).signal, `call ${call}`).toBe("SIGKILL");
      const { sessions, snapshots, close } = open();
      try {
        const isDone = (await recordsOf(sessions, id)).some(({ type }) => type === direction);
        await sessions[how](id);
        expect(treeOf(cwd), `call ${call}`).toEqual((isDone ? to : from).tree);
        expect(readdirSync(cwd).filter((name) => name.startsWith(".chimera"))).toEqual([]);
        expect([snapshots.unfinished(), existsSync(join(root, "snapshots", id))]).toEqual([[], false]);
        return isDone;
      } finally {
        await close();
      }
    },
    async killAt(call) {
      expect(rewind({ DIE_AT: String(call) }).signal, `call ${call}`).toBe("SIGKILL");
      const { sessions, snapshots, close } = open();
      try {
        const session = await sessions.load(id);
        const isDone = (await recordsOf(sessions, id)).some(({ type }) => type === direction);
        const state = () => ({
          tree: treeOf(cwd),
          visible: session.conversation.seen(last + 1).length,
          redoable: session.conversation.redoable().map(({ number }) => number),
        });
        expect(state(), `call ${call}`).toEqual(isDone ? to : from);
        expect(snapshots.unfinished()).toEqual([]);
        expect(await session[isDone ? other : direction]()).toMatchObject({
          turns: 1,
          conflicts: [],
          files: { length: 3 },
        });
        expect(state(), `call ${call}, then the other way`).toEqual(isDone ? from : to);
        return isDone;
      } finally {
        await close();
      }
    },
  };
}

function treeOf(directory: string): Record<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map(({ parentPath, name }) => [
      join(parentPath, name).slice(directory.length),
      readFileSync(join(parentPath, name), "utf8"),
    ]),
  );
}
