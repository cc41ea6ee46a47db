// Requests between nodes while the database delays some statements and fails others, against a real server.
import type { EventBody } from "@chimera/event-store";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPostgres, type PostgresStorage } from "../src/index.js";
import { startPostgres, type TestDatabase } from "../src/testing.js";
import { withDatabase } from "./with-database.js";

type Storage = PostgresStorage<EventBody, object>;

const NEAR = "otter-20260425T120300-aaaa1111";
const FAR = "otter-20260425T120300-bbbb2222";
let database: TestDatabase;
let storages: Storage[];
let locker: pg.Client;

const open = async (): Promise<Storage> => {
  const storage = await openPostgres<EventBody, object>({ url: `${database.url}?lease=60`, workspaceHost: "here" });
  storages.push(storage);
  return storage;
};
/** Puts a request into the inbox of the node, and locks the inbox until the transaction is committed. */
const putUnderLock = async (to: Storage): Promise<void> => {
  await locker.query("BEGIN; LOCK TABLE chimera.inbox IN ACCESS EXCLUSIVE MODE");
  await locker.query("INSERT INTO chimera.inbox(sid, from_node, to_node, request) VALUES ($1, 'nobody', $2, 'once')", [
    FAR,
    to.node,
  ]);
};
/** The processes of the database in which a statement that begins like this waits for the lock. */
const waitingFor = async (statement: string): Promise<number[]> => {
  const rows = await database.query(
    "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND ltrim(query, E' \\n') LIKE $1 || '%'",
    [statement],
  );
  return rows.map(({ pid }) => Number(pid));
};
const blocked = async (statement: string, except?: number): Promise<number> => {
  let found: number | undefined;
  await expect
    .poll(
      async () => {
        found = (await waitingFor(statement)).find((pid) => pid !== except);
        return found;
      },
      { timeout: 20_000, interval: 20 },
    )
    .toBeDefined();
  return found ?? 0;
};
const replies = async () => (await database.query("SELECT reply FROM chimera.inbox")).map(({ reply }) => reply);

describe("the inbox of a node", { tags: ["needs-postgres"], timeout: 60_000 }, () => {
  withDatabase(startPostgres, (made) => (database = made));
  beforeEach(async () => {
    storages = [];
    await database.clear();
    locker = new pg.Client({ connectionString: database.url });
    await locker.connect();
  });
  afterEach(async () => {
    await locker.end();
    await Promise.all(storages.map((storage) => storage.close().catch(() => {})));
  });

  it("does a request once when a look for replies fails while the request is taken", async () => {
    const [near, far] = [await open(), await open()];
    await near.store.create(NEAR, {});
    let release = (_reply: string) => {};
    await near.inbox.answer(() => new Promise((resolve) => (release = resolve)));
    const done: string[] = [];
    await far.inbox.answer(async (request) => {
      done.push(request);
      return `did ${request}`;
    });
    // From now on the far node looks for a reply, too.
    const asked = far.inbox.ask(NEAR, "later");
    await expect
      .poll(async () => (await database.query("SELECT FROM chimera.inbox WHERE taken IS NOT NULL")).length)
      .toBe(1);
    await putUnderLock(far);
    const first = await blocked("SELECT i.id");
    await blocked("UPDATE chimera.inbox SET taken");
    await database.query("SELECT pg_terminate_backend($1)", [first]);
    // The next look for replies has begun.
    await blocked("SELECT i.id", first);
    await locker.query("COMMIT");
    await expect.poll(replies, { timeout: 20_000 }).toContain("did once");
    release("done");
    expect(await asked).toBe("done");
    // A request that was taken twice would be done again by the time another request is answered.
    await far.store.create(FAR, {});
    expect(await near.inbox.ask(FAR, "last")).toBe("did last");
    expect(done).toEqual(["once", "last"]);
  });

  it("does a request that it takes in the moment in which it closes", async () => {
    const far = await open();
    await far.inbox.answer(async (request) => `did ${request}`);
    await putUnderLock(far);
    await blocked("UPDATE chimera.inbox SET taken");
    const closed = far.inbox.close();
    await locker.query("COMMIT");
    await closed;
    expect(await replies()).toEqual(["did once"]);
  });

  it("tries a request whose handler fails again, after pauses that grow", async () => {
    const [near, far] = [await open(), await open()];
    await near.store.create(NEAR, {});
    const tried: number[] = [];
    await near.inbox.answer(async (request) => {
      tried.push(performance.now());
      if (tried.length < 4) throw new Error("not yet");
      return `did ${request}`;
    });
    expect(await far.inbox.ask(NEAR, "it")).toBe("did it");
    const pauses = tried.slice(1).map((at, i) => at - tried[i]!);
    for (const [i, least] of [500, 1000, 2000].entries()) expect(pauses[i]).toBeGreaterThanOrEqual(least);
  });

  it("waits for its announcement before it closes, so that no node asks it any more", async () => {
    const near = await open();
    void near.inbox.answer(async () => "");
    await near.inbox.close();
    expect(await database.query("SELECT answers FROM chimera.node")).toEqual([{ answers: false }]);
  });
});
