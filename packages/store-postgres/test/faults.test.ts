// What the store promises when connections, nodes and the database itself fail, against a real server.
import type { EventBody, EventStore } from "@chimera/event-store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPostgres, type PostgresOptions, type PostgresStorage } from "../src/index.js";
import { type OwnServer, startOwnPostgres, type TestDatabase } from "../src/testing.js";
import { type Cable, startCable } from "./cable.js";
import { withDatabase } from "./with-database.js";

interface Note extends EventBody {
  readonly text: string;
}
type Storage = PostgresStorage<Note, object>;

const ID = "otter-20260425T120300-aaaa1111";
const note = (text: string): Note => ({ type: "note", text });
let server: OwnServer;
let database: TestDatabase;
let storages: Storage[];
let cables: Cable[];

const open = async (url = database.url, options: Partial<PostgresOptions<Note, object>> = {}): Promise<Storage> => {
  const storage = await openPostgres<Note, object>({ url, workspaceHost: "here", ...options });
  storages.push(storage);
  return storage;
};
const cabled = async (): Promise<Cable> => {
  const cable = await startCable(database.url);
  cables.push(cable);
  return cable;
};
const textsOf = async (store: EventStore<Note, object>, id = ID): Promise<string[]> => {
  const texts: string[] = [];
  for await (const entry of store.read(id)) {
    if (!("event" in entry)) throw new Error("a record is lost");
    expect(entry.seq).toBe(texts.length + 1);
    texts.push(entry.event.text);
  }
  return texts;
};
const upTo = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i));

describe("PostgreSQL", { tags: ["needs-postgres"], timeout: 60_000 }, () => {
  withDatabase(startOwnPostgres, (made, started) => {
    database = made;
    server = started;
  });
  beforeEach(async () => {
    storages = [];
    cables = [];
    await database.clear();
  });
  afterEach(async () => {
    for (const cable of cables) cable.resume();
    await Promise.all(storages.map((storage) => storage.close().catch(() => {})));
    await Promise.all(cables.map((cable) => cable.close()));
  });

  it("writes each record once when replies to appends are lost", async () => {
    const cable = await cabled();
    const [near, far] = [await open(cable.url), await open()];
    const writer = await near.store.create(ID, {});
    for (const text of upTo(200)) {
      if (Number(text) % 5 === 0) cable.swallowReply();
      writer.append([note(text)]);
      if (Number(text) % 3 === 0) await writer.durable();
    }
    await writer.durable();
    expect(await textsOf(far.store)).toEqual(upTo(200));
  });

  it("writes each record once when connections are cut in the middle of appends", async () => {
    const cable = await cabled();
    const [near, far] = [await open(cable.url), await open()];
    const writers = await Promise.all(upTo(5).map((n) => near.store.create(`otter-20260425T12030${n}-aaaa1111`, {})));
    for (const text of upTo(60)) {
      for (const writer of writers) writer.append([note(text)]);
      if (Number(text) % 10 === 0) cable.cut();
      await Promise.race([Promise.all(writers.map((writer) => writer.durable())), new Promise(setImmediate)]);
    }
    await Promise.all(writers.map((writer) => writer.durable()));
    for (const writer of writers) expect(await textsOf(far.store, writer.id)).toEqual(upTo(60));
  });

  it("keeps every acknowledged record when the database is killed, and continues when it is back", async () => {
    const { store } = await open(`${database.url}?lease=30`);
    const writer = await store.create(ID, {});
    const acknowledged: string[] = [];
    for (const text of upTo(60)) {
      if (text === "20") {
        await server.kill();
        setTimeout(() => void server.start(), 300);
      }
      writer.append([note(text)]);
      await writer.durable();
      acknowledged.push(text);
    }
    expect(await textsOf((await open()).store)).toEqual(acknowledged);
  });

  it("takes a session over when its node's lease is over, and refuses later writes of the old node", async () => {
    const cable = await cabled();
    // Long enough for a busy machine to renew it in time.
    const near = await open(`${cable.url}?lease=4`);
    const writer = await near.store.create(ID, {});
    writer.append([note("a")]);
    await writer.durable();
    const far = await open(`${database.url}?lease=4`);
    await expect(far.store.open(ID)).rejects.toMatchObject({ code: "claimed" });
    const frozenAt = performance.now();
    cable.hold();
    writer.append([note("stale")]);
    // The append was sent, and it is unknown whether it arrived.
    const stale = expect(writer.durable()).rejects.toMatchObject({ code: "outcome_unknown" });
    await expect.poll(() => far.store.open(ID).catch(() => null), { timeout: 10_000, interval: 50 }).not.toBeNull();
    expect(performance.now() - frozenAt).toBeLessThan(5000);
    await expect.poll(() => writer.lost.aborted, { timeout: 10_000 }).toBe(true);
    cable.resume();
    await stale;
    expect(() => writer.append([note("later")])).toThrow(expect.objectContaining({ code: "fenced" }));
    await writer.close();
    expect(await textsOf(far.store)).toEqual(["a"]);
  });

  it("says which program has a session, where, and since when", async () => {
    const [near, far] = [await open(database.url, { program: "otter" }), await open()];
    await (await near.store.create(ID, {})).close();
    const before = Date.now();
    await near.store.open(ID);
    const refused = await far.store.open(ID).catch((error) => error);
    expect(refused).toMatchObject({ code: "claimed", holder: { program: "otter", pid: process.pid, host: "here" } });
    expect(refused.message).toContain(
      `is open in otter, process ${process.pid} on here, since ${refused.holder.since}`,
    );
    // Two clocks of one machine may differ by a moment.
    expect(Math.abs(Date.parse(refused.holder.since) - before)).toBeLessThan(30_000);
  });

  it("takes all sessions of a dead node over before it settles any, and shares them among the nodes", async () => {
    const cable = await cabled();
    const dying = await open(`${cable.url}?lease=2`);
    const ids = upTo(60).map((n) => `otter-20260425T120300-aaaa11${n.padStart(2, "0")}`);
    await Promise.all(ids.map((id) => dying.store.create(id, {})));
    const heirs = await Promise.all([open(`${database.url}?lease=2`), open(`${database.url}?lease=2`)]);
    const settled: string[] = [];
    let go = () => {};
    const ready = new Promise<void>((resolve) => {
      go = resolve;
    });
    for (const { inbox } of heirs) await inbox.serve();
    const stops = heirs.map(({ onOrphan }) =>
      onOrphan(async (sid) => {
        await ready;
        settled.push(sid);
      }),
    );
    cable.hold();
    const owners = () =>
      database.query("SELECT owner, count(*)::int4 AS count FROM chimera.session GROUP BY owner ORDER BY owner");
    const nodes = heirs.map(({ node }) => node).toSorted();
    await expect
      .poll(async () => (await owners()).map(({ owner }) => owner), { timeout: 20_000 })
      .toEqual(expect.not.arrayContaining([dying.node]));
    expect(settled).toEqual([]);
    expect(nodes).toEqual(expect.arrayContaining((await owners()).map(({ owner }) => owner)));
    go();
    await expect.poll(() => settled.toSorted(), { timeout: 20_000 }).toEqual(ids.toSorted());
    for (const stop of stops) stop();
  });

  it("tries to settle a failed session again, and then leaves it to the next node that claims it", async () => {
    const cable = await cabled();
    const dying = await open(`${cable.url}?lease=1`);
    await dying.store.create(ID, {});
    const heir = await open(`${database.url}?lease=1`, { onError: () => {} });
    let attempts = 0;
    const stop = heir.onOrphan(async () => {
      attempts += 1;
      throw new Error("not now");
    });
    cable.hold();
    const owner = async () => (await database.query("SELECT owner FROM chimera.session"))[0]?.["owner"];
    await expect.poll(owner, { timeout: 20_000 }).toBe(null);
    expect(attempts).toBe(3);
    stop();
    await (await heir.store.open(ID)).close();
  });

  it("delivers records to other nodes when listening connections are ended", async () => {
    const [near, far] = [await open(), await open()];
    const writer = await near.store.create(ID, {});
    const seen: string[] = [];
    const { ended, close } = far.store.subscribe(ID, { from: 0 }, (batch) => {
      for (const entry of batch) if ("event" in entry) seen.push(entry.event.text);
    });
    for (const text of upTo(100)) {
      writer.append([note(text)]);
      await writer.durable();
      if (Number(text) % 25 === 10)
        await database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND query ILIKE 'listen%'`);
    }
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(100);
    expect(seen).toEqual(upTo(100));
    close();
    await ended;
  });

  it("does each request of another node once, and answers it, when replies of the database are lost", async () => {
    const [toNear, toFar] = [await cabled(), await cabled()];
    const [near, far] = [await open(toNear.url), await open(toFar.url)];
    await far.store.create(ID, {});
    const done: string[] = [];
    await far.inbox.answer(async (request) => {
      done.push(request);
      return `did ${request}`;
    });
    const asks = upTo(60).map(async (request) => {
      for (const cable of [toNear, toFar]) if (Number(request) % 6 === 0) cable.swallowReply();
      // A request that fails before it is in the inbox was not done.
      for (;;) {
        const reply = await near.inbox.ask(ID, request).catch(() => null);
        if (reply !== null) return reply;
      }
    });
    expect(await Promise.all(asks)).toEqual(upTo(60).map((request) => `did ${request}`));
    expect(done.toSorted((a, b) => Number(a) - Number(b))).toEqual(upTo(60));
  });

  it("delivers another node's records to readers when a session could not be released", async () => {
    const cable = await cabled();
    const [near, far] = [await open(`${cable.url}?lease=2`), await open(`${database.url}?lease=2`)];
    const writer = await near.store.create(ID, {});
    writer.append([note("0")]);
    await writer.durable();
    const seen: string[] = [];
    const { close } = near.store.subscribe(ID, { from: 0 }, (batch) => {
      for (const entry of batch) if ("event" in entry) seen.push(entry.event.text);
    });
    cable.hold();
    const closed = writer.close().catch(() => {});
    await expect.poll(() => far.store.open(ID).catch(() => null), { timeout: 10_000, interval: 50 }).not.toBeNull();
    cable.cut();
    cable.resume();
    await closed;
    const [row] = await database.query("SELECT fence::float8 AS fence FROM chimera.session WHERE sid = $1", [ID]);
    expect(row?.["fence"]).toBe(2);
    await far.close();
    const heir = await (await open()).store.open(ID);
    heir.append([note("1")]);
    await heir.durable();
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual(["0", "1"]);
    close();
  });

  it("makes its tables once, however many nodes start at the same time", async () => {
    const nodes = await Promise.all(upTo(6).map(() => open()));
    const writer = await nodes[0]!.store.create(ID, {});
    await writer.close();
    expect(await nodes[5]!.store.has(ID)).toBe(true);
  });

  it("brings tables of the version before this one up to date, and goes on with their sessions", async () => {
    const before = await open();
    const writer = await before.store.create(ID, {});
    writer.append([note("0")]);
    await writer.close();
    await before.close();
    await database.query("ALTER TABLE chimera.session DROP COLUMN origin");
    await database.query("UPDATE chimera.meta SET version = 7");
    const [{ store }] = await Promise.all([open(), open()]);
    const again = await store.open(ID);
    again.append([note("1")]);
    await again.durable();
    expect(await textsOf(store)).toEqual(["0", "1"]);
    const other = await store.create(ID.replace("aaaa", "bbbb"), {});
    expect([again.origin(), other.origin()]).toEqual(["", expect.stringMatching(/.{36}/)]);
    expect(await database.query("SELECT version FROM chimera.meta")).toEqual([{ version: 8 }]);
  });

  it("refuses tables of a newer version, and servers that would lose acknowledged records", async () => {
    await open();
    await database.query("UPDATE chimera.meta SET version = 99");
    await expect(open()).rejects.toThrow(/tables of version 99.*update it/);
    await database.clear();
    const { pathname } = new URL(database.url);
    await database.query(`ALTER DATABASE ${pathname.slice(1)} SET synchronous_commit = off`);
    await expect(open()).rejects.toThrow(/synchronous_commit=off/);
    await database.query(`ALTER DATABASE ${pathname.slice(1)} RESET synchronous_commit`);
    const careless = await startOwnPostgres(process.env, { fsync: "off" });
    await expect(open(careless.url)).rejects.toThrow(/fsync=off/);
    await careless.stop();
    await expect(open(`${database.url}?lease=0`)).rejects.toThrow(/lease=0/);
  });

  it("continues at a promoted standby with every acknowledged record", async () => {
    const primary = await startOwnPostgres(process.env);
    const standby = await primary.standby();
    const servers = [primary.url, standby.url].map((url) => new URL(url).host).join(",");
    const { store } = await open(`postgres://chimera@${servers}/postgres?target_session_attrs=read-write&lease=30`);
    const writer = await store.create(ID, {});
    const seen: string[] = [];
    const { close } = store.subscribe(ID, { from: 0 }, (batch) => {
      for (const entry of batch) if ("event" in entry) seen.push(entry.event.text);
    });
    for (const text of upTo(50)) {
      writer.append([note(text)]);
      if (text === "20") {
        await primary.kill();
        await standby.promote();
      }
      await writer.durable();
    }
    expect(await textsOf(store)).toEqual(upTo(50));
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual(upTo(50));
    // A node that starts now finds the live server, whichever is named first.
    const late = await open(`postgres://chimera@${servers}/postgres?target_session_attrs=read-write`);
    expect(await textsOf(late.store)).toEqual(upTo(50));
    close();
    await writer.close();
    await Promise.all([standby.stop(), primary.stop()]);
  });

  it("leaves a session to the host that has its files, and names that host", async () => {
    const near = await open();
    await (await near.store.create(ID, {})).close();
    const far = await open(database.url, { workspaceHost: "elsewhere" });
    await expect(far.store.open(ID)).rejects.toThrow(
      /works on the files of here, where no server runs now: start one there/,
    );
    expect(await textsOf(far.store)).toEqual([]);
    const same = await open(database.url, { workspaceHost: "here" });
    await (await same.store.open(ID)).close();
  });
});
