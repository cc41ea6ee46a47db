// What is on the disk once the first record of a session is durable, also when the process that made it has let it go; and once a
// session was copied or deleted.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createFileStore } from "../src/index.js";

/** What was synced, in order; of a directory with the names that it had. */
const calls = vi.hoisted((): { readonly path: string; readonly names: readonly string[] }[] => []);
vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  const noted = (sync: typeof real.fsync): typeof real.fsync =>
    Object.assign(
      (fd: number, done: (error: NodeJS.ErrnoException | null) => void) => {
        const path = real.readlinkSync(`/proc/self/fd/${fd}`);
        calls.push({ path, names: real.statSync(path).isDirectory() ? real.readdirSync(path) : [] });
        sync(fd, done);
      },
      { __promisify__: sync.__promisify__ },
    );
  return { ...real, fsync: noted(real.fsync), fdatasync: noted(real.fdatasync) };
});

const synced = () => calls.map(({ path }) => path);

const [A, B] = ["mine-20260425T120300-aaaa1111", "mine-20260425T120301-bbbb2222"];

const home = () => {
  const parent = mkdtempSync(join(tmpdir(), "created-"));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  calls.length = 0;
  return join(parent, "home");
};

test("the directories above all sessions wait for the first session with a record", {
  tags: ["needs-linux"],
}, async () => {
  const root = home();
  const store = createFileStore({ root });
  await store.create(A, {});
  expect(synced()).toEqual([]);
  const writer = await store.create(B, {});
  writer.append([{ type: "note" }]);
  await writer.durable();
  expect(synced()).toEqual(
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
  expect(synced()).toEqual([]);
  const writer = await store.open(A);
  writer.append([{ type: "note" }]);
  await writer.durable();
  expect(synced()).toEqual(
    expect.arrayContaining([join(root, "eventlog", A), join(root, "eventlog"), root, dirname(root)]),
  );
  await store.close();
});

test("a summary is synced with the first record only where the log does not say how the session was born", {
  tags: ["needs-linux"],
}, async () => {
  const form = {
    birth: (summary: object) => summary,
    read: (_id: string, stored: object) => stored,
    unheld: (summary: object) => summary,
    isOutdated: () => false,
    derive: async (_id: string, born: object) => born,
  };
  const root = home();
  const store = createFileStore({ root, summaries: form });
  for (const [id, summary] of [
    [A, { cwd: "/work" }],
    // Too long for the header of a segment.
    [B, { cwd: `/${"work".repeat(10_000)}` }],
  ] as const) {
    const writer = await store.create(id, summary);
    writer.append([{ type: "note" }]);
    await writer.durable();
  }
  const summaries = [A, B].map((id) => join(root, "eventlog", id, "summary.json"));
  expect(summaries.map((path) => synced().includes(path))).toEqual([false, true]);
  await store.close();
});

test("sessions that get their first record together sync the directory of all sessions together", {
  tags: ["needs-linux"],
}, async () => {
  const root = home();
  const store = createFileStore({ root });
  const writers = await Promise.all(
    Array.from({ length: 20 }, (_, at) => store.create(`mine-20260425T120300-${String(at).padStart(8, "0")}`, {})),
  );
  calls.length = 0;
  for (const writer of writers) writer.append([{ type: "note" }]);
  await Promise.all(writers.map((writer) => writer.durable()));
  expect(synced().filter((path) => path === join(root, "eventlog")).length).toBeLessThan(5);
  expect(synced().filter((path) => dirname(path) === join(root, "eventlog")).length).toBeGreaterThanOrEqual(20);
  await store.close();
});

test("a copy is on the disk with its name once it is durable", { tags: ["needs-linux"] }, async () => {
  const root = home();
  const store = createFileStore({ root });
  const writer = await store.create(A, {});
  writer.append([{ type: "note" }]);
  await writer.durable();
  calls.length = 0;
  const copy = await store.copy(A, B, { upTo: 1, summary: {} });
  await copy.durable();
  const directory = join(root, "eventlog", B);
  const [segment] = readdirSync(directory).filter((name) => name.startsWith("event-"));
  expect(synced()).toEqual(expect.arrayContaining([join(directory, segment!), directory]));
  expect(calls.find(({ path }) => path === join(root, "eventlog"))?.names).toContain(B);
  await store.close();
});

test("a session is gone from the disk once it is deleted", { tags: ["needs-linux"] }, async () => {
  const root = home();
  const store = createFileStore({ root });
  const writer = await store.create(A, {});
  writer.append([{ type: "note" }]);
  await writer.durable();
  calls.length = 0;
  await store.delete(A);
  expect(calls).toEqual([{ path: join(root, "eventlog"), names: [] }]);
  await store.close();
});
