// One request makes one session, whichever nodes it reaches in the same moment.
import type { EventBody } from "@chimera/event-store";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openPostgres, type PostgresStorage } from "../src/index.js";
import { startPostgres, type TestDatabase } from "../src/testing.js";
import { withDatabase } from "./with-database.js";

type Storage = PostgresStorage<EventBody, object>;

const request = { key: "k1", request: "digest" };
const DAY_MS = 24 * 60 * 60 * 1000;
let database: TestDatabase;
let made = 0;

const idAt = (time = Date.UTC(2026, 3, 25), prefix = "otter"): string =>
  `${prefix}-${new Date(time).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}-${String(made++).padStart(8, "0")}`;

describe("a session that a request with a key makes", { tags: ["needs-postgres"] }, () => {
  let nodes: [Storage, Storage];
  withDatabase(startPostgres, (one) => (database = one));
  beforeAll(async () => {
    const open = () => openPostgres<EventBody, object>({ url: database.url });
    nodes = [await open(), await open()];
  });
  beforeEach(() => database.query("DELETE FROM chimera.session"));
  afterAll(() => Promise.all(nodes.map((node) => node.close())));

  it("is made by one of two nodes that make it in the same moment", async () => {
    for (let round = 0; round < 20; round++) {
      const summary = { ...request, key: `k${round}` };
      const results = await Promise.allSettled(nodes.map(({ store }) => store.create(idAt(), summary)));
      expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      const refused = results.find((result) => result.status === "rejected");
      expect(refused?.reason).toMatchObject({ code: "key_taken" });
      expect((await nodes[0].store.list({ key: summary.key })).sessions).toHaveLength(1);
    }
  });

  it("is copied by one of two nodes that copy it in the same moment, and the other one leaves no record", async () => {
    const parent = idAt();
    const writer = await nodes[0].store.create(parent, {});
    writer.append([{ type: "note" }]);
    await writer.durable();
    const ids = [idAt(), idAt()];
    const copies = nodes.map(({ store }, at) => store.copy(parent, ids[at]!, { upTo: 1, summary: request }));
    const results = await Promise.allSettled(copies);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const rows = await database.query("SELECT DISTINCT sid FROM chimera.event");
    expect(rows).toHaveLength(2);
  });

  it("does not wait for another node that copies a long session by the same request", async () => {
    const [one, other] = nodes;
    const [parent, copy, busy] = [idAt(), idAt(), idAt()];
    const writer = await one.store.create(parent, {});
    writer.append([{ type: "note" }]);
    await writer.close();
    const working = await other.store.create(busy, {});
    // The copy takes as long as somebody else writes to its first row.
    const row = `INSERT INTO chimera.event(sid, seq, line) VALUES ('${copy}', 1, '')`;
    let isOver = false;
    const held = database.query(`BEGIN; ${row}; SELECT pg_sleep(3); ROLLBACK`).then(() => (isOver = true));
    const sleeping = () =>
      database.query("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'");
    await vi.waitFor(async () => expect(await sleeping()).toHaveLength(1), 5000);
    const copying = one.store.copy(parent, copy, { upTo: 1, summary: request });
    const waiting = () =>
      database.query("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'");
    await vi.waitFor(async () => expect(await waiting()).toHaveLength(1), 5000);
    const made = await Promise.allSettled([idAt(), idAt()].map((id) => other.store.create(id, request)));
    working.append([{ type: "note" }]);
    await working.durable();
    expect(isOver).toBe(false);
    expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await expect(copying).rejects.toMatchObject({ code: "key_taken" });
    await held;
  });

  it("leaves its key to other people, other programs, and sessions that only inherit it", async () => {
    const [{ store }] = nodes;
    await store.create(idAt(), request);
    await store.create(idAt(), { ...request, owner: "eve" });
    await store.create(idAt(undefined, "ferret"), request);
    await store.create(idAt(), { key: "k1" });
    await store.importLog(idAt(), { summary: request });
    await expect(store.create(idAt(), { ...request, owner: "eve" })).rejects.toMatchObject({ code: "key_taken" });
  });

  it("gives its key back when it is deleted, is torn down, or is a day old", async () => {
    const [{ store }] = nodes;
    const now = Date.UTC(2026, 3, 25);
    const [first, second] = [idAt(now), idAt(now)];
    await store.create(first, request);
    await store.delete(first);
    await store.create(second, request);
    await store.writeSummary(second, { ...request, closed: true });
    await store.create(idAt(now), request);
    await expect(store.create(idAt(now + DAY_MS - 1000), request)).rejects.toMatchObject({ code: "key_taken" });
    const later = idAt(now + DAY_MS);
    await store.create(later, request);
    await expect(store.create(idAt(now + DAY_MS), request)).rejects.toMatchObject({ code: "key_taken" });
    await expect(store.create(later, {})).rejects.toMatchObject({ code: "exists" });
  });
});
