import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import { createFileStore, StoreError } from "@chimera/event-store";
import { expect, onTestFinished, test } from "vitest";
import { searchSessions } from "../src/index.js";
import { prompt } from "./fixture.js";

const IDS = ["one", "two", "three"].map((name, at) => `otter-20260425T12030${at}-${name}`);

/** Three stored sessions whose prompt is "hello". The store reads them from the disk. */
async function threeSessions() {
  const root = mkdtempSync(join(tmpdir(), "search-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const open = () => {
    const store = createFileStore<SessionEvent, object>({ root, durability: "none" });
    onTestFinished(() => store.close());
    return store;
  };
  const writing = open();
  for (const id of IDS) {
    const log = await writing.create(id, { turns: 1 });
    log.append([{ ...prompt("hello"), ts: "2026-04-25T12:03:00.000Z" } as unknown as SessionEvent]);
    await log.close();
  }
  await writing.close();
  const folder = join(root, "eventlog", IDS[1]!);
  return { store: open(), folder, log: join(folder, readdirSync(folder).find((name) => name.startsWith("event-"))!) };
}

async function found(logs: Parameters<typeof searchSessions>[0]): Promise<(string | undefined)[]> {
  const rows = IDS.map((id) => ({ id, summary: {} }));
  const hits: (string | undefined)[] = [];
  for await (const hit of searchSessions(logs, rows, "HELLO")) hits.push(hit?.session_id);
  return hits;
}

test.each([
  ["removed", ({ folder }: { folder: string }) => rmSync(folder, { recursive: true })],
  ["emptied", ({ log }: { log: string }) => writeFileSync(log, "")],
  ["filled with zeros", ({ log }: { log: string }) => writeFileSync(log, Buffer.alloc(4096))],
  [
    "replaced by a directory",
    ({ log }: { log: string }) => {
      rmSync(log);
      mkdirSync(log);
    },
  ],
])("a search goes on after a session whose log was %s", async (_, spoil) => {
  const { store, ...paths } = await threeSessions();
  expect(await found(store)).toEqual(IDS);
  spoil(paths);
  expect(await found(store)).toEqual([IDS[0], undefined, IDS[2]]);
});

test("a search fails when the database cannot be reached, rather than find nothing", async () => {
  const read = () => ({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new StoreError("database", "the database is away")) }),
  });
  await expect(found({ read })).rejects.toMatchObject({ code: "database" });
});
