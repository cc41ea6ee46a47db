// What is on the disk once the first record of a session is durable, also when the process that made it has let it go.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createFileStore } from "../src/index.js";

const synced = vi.hoisted(() => new Set<string>());
vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  const fsync: typeof real.fsync = Object.assign(
    (fd: number, done: (error: NodeJS.ErrnoException | null) => void) => {
      synced.add(real.readlinkSync(`/proc/self/fd/${fd}`));
      real.fsync(fd, done);
    },
    { __promisify__: real.fsync.__promisify__ },
  );
  return { ...real, fsync };
});

const [A, B] = ["mine-20260425T120300-aaaa1111", "mine-20260425T120301-bbbb2222"];

const home = () => {
  const parent = mkdtempSync(join(tmpdir(), "created-"));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  synced.clear();
  return join(parent, "home");
};

test("the directories above all sessions wait for the first session with a record", {
  tags: ["needs-linux"],
}, async () => {
  const root = home();
  const store = createFileStore({ root });
  await store.create(A, {});
  expect([...synced]).toEqual([]);
  const writer = await store.create(B, {});
  writer.append([{ type: "note" }]);
  await writer.durable();
  expect([...synced]).toEqual(
    expect.arrayContaining([join(root, "eventlog", B), join(root, "eventlog"), root, dirname(root)]),
  );
  await store.close();
});

test("a session that was closed before its first record is on the disk with it", {
  tags: ["needs-linux"],
}, async () => {
  const root = home();
  const store = createFileStore({ root });
  await (await store.create(A, {})).close();
  expect([...synced]).toEqual([]);
  const writer = await store.open(A);
  writer.append([{ type: "note" }]);
  await writer.durable();
  expect([...synced]).toEqual(
    expect.arrayContaining([join(root, "eventlog", A), join(root, "eventlog"), root, dirname(root)]),
  );
  await store.close();
});
