import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore } from "@chimera/event-store";
import { createSnapshotStore } from "@chimera/snapshot-store";
import { expect, onTestFinished, test } from "vitest";
import { recoverRestores } from "../src/index.js";
import { makeSessions, speaking } from "./fixture.js";

/** A session whose program was killed after an undo had restored the file, an hour ago; its log is not in the store that is asked. */
async function interruptedUndo() {
  const { session, ...rest } = await writtenFile();
  await session.restore([0], "undo", { after: 3 });
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(join(rest.root, rest.id), hourAgo, hourAgo);
  return rest;
}

/** A session whose first turn wrote `after` into a file that was `before`. */
async function writtenFile() {
  const base = mkdtempSync(join(tmpdir(), "recover-"));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [root, file] = [join(base, "snapshots"), join(base, "a.txt")];
  writeFileSync(file, "before");
  const id = "otter-20260425T120300-aaaa1111";
  const session = createSnapshotStore({ root }).session(id, { cwd: base, directories: [] });
  session.beginTurn(0);
  await session.willWrite(file);
  writeFileSync(file, "after");
  await session.endTurn(new Set([0]));
  return { root, id, session, read: () => readFileSync(file, "utf8") };
}

test.each([
  [true, "after"],
  [false, "before"],
])(
  "an interrupted undo without a log is taken back only if no other store can have the log (%s)",
  async (isOnlyStore, text) => {
    const { root, read } = await interruptedUndo();
    expect(read()).toBe("before");
    const store = createMemoryStore<SessionEvent, Summary>();
    await recoverRestores(store, createSnapshotStore({ root }), () => {}, { isOnlyStore });
    expect(read()).toBe(text);
  },
);

test("a session whose log is in another store keeps its interrupted undo when its id is deleted here", async () => {
  const { root, id, read } = await interruptedUndo();
  const snapshots = createSnapshotStore({ root });
  await makeSessions(speaking("ok"), { snapshots }).delete(id);
  expect(read()).toBe("before");
  expect(snapshots.unfinished().map(({ sessionId }) => sessionId)).toEqual([id]);
});

test("a session whose log is in another store can be undone after its id was deleted here", async () => {
  const { root, id, session, read } = await writtenFile();
  await makeSessions(speaking("ok"), { snapshots: createSnapshotStore({ root }) }).delete(id);
  await session.restore([0], "undo", { after: 3 });
  expect(read()).toBe("before");
});
