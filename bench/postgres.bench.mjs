// Logs in PostgreSQL: group appends against the same statement from a bare script, beside files, and delivery to another node.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createFileStore, makeSessionId } from "../packages/event-store/dist/index.js";
import { openPostgres } from "../packages/store-postgres/dist/index.js";
import { canStartPostgres, startOwnPostgres } from "../packages/store-postgres/dist/testing.js";
import { interleave, median, milliseconds, row } from "./report.mjs";

const SESSIONS = 100;
const ROUNDS = 40;
const event = (i) => ({
  type: "text_delta",
  turn: 0,
  metadata: { text: `delta number ${i} with some more text in it` },
});
let count = 0;
const nextId = () => makeSessionId("bench", Date.UTC(2026, 0, 1) + 1000 * ++count);
const perSecond = (ms) => ((SESSIONS * ROUNDS) / ms) * 1000;

/** Every session appends a record and waits until it is durable, again and again. */
async function storeAppend(store) {
  const writers = await Promise.all(Array.from({ length: SESSIONS }, () => store.create(nextId(), {})));
  const append = async (writer) => {
    for (let i = 0; i < ROUNDS; i++) {
      writer.append([event(i)]);
      await writer.durable();
    }
  };
  const ms = await milliseconds(() => Promise.all(writers.map(append)));
  for (const writer of writers) await writer.close();
  return perSecond(ms);
}

/** The statement that the store sends, as the server sees it. */
async function seenStatement(database) {
  for (;;) {
    const [found] = await database.query(
      "SELECT query FROM pg_stat_activity WHERE query LIKE '%INSERT INTO chimera.event%string_to_table%' AND pid <> pg_backend_pid()",
    );
    if (found) return found.query;
  }
}

/** The same statement over one connection, for all sessions at once, and nothing else. */
async function bareAppend(client, text) {
  const ids = Array.from({ length: SESSIONS }, nextId);
  for (const id of ids)
    await client.query(
      "INSERT INTO chimera.session(sid, fence, host, summary, prefix, touched, prompted, closed) VALUES ($1, 1, 'bare', '{}', 'bench', 0, true, false)",
      [id],
    );
  const ones = `{${ids.map(() => 1)}}`;
  const indexes = `{${ids.map((_, i) => i + 1)}}`;
  const send = (i) => {
    const line = (id) => JSON.stringify({ seq: i + 1, id: `evt-${id}`, ...event(i), ts: "2026-04-25T09:12:08.114Z" });
    const values = [`{${ids}}`, `{${ids.map(() => i)}}`, ones, ones, ids.map(line).join("\n"), indexes, ones];
    return client.query({ name: "append", text, values });
  };
  const ms = await milliseconds(async () => {
    for (let i = 0; i < ROUNDS; i++) await send(i);
  });
  return perSecond(ms);
}

/** Milliseconds from the append of a record to its arrival at a reader of another node: the middle of all. */
async function delivery(near, far) {
  const taken = [];
  const lives = Array.from({ length: 20 }, async () => {
    const writer = await near.create(nextId(), {});
    const { close } = far.subscribe(writer.id, { from: 0 }, (batch) => {
      for (const entry of batch) taken.push(performance.now() - entry.event.sentAt);
    });
    await pause(500);
    for (let i = 0; i < 40; i++) {
      writer.append([{ ...event(i), sentAt: performance.now() }]);
      await pause(50 + Math.random() * 50);
    }
    await pause(1500);
    close();
    await writer.close();
  });
  await Promise.all(lives);
  if (taken.length !== 800) throw new Error(`${taken.length} of 800 records were delivered`);
  return median(taken);
}

if (!canStartPostgres(process.env)) {
  console.log("logs in PostgreSQL: not measured, there is no PostgreSQL here");
  process.exit();
}
const work = mkdtempSync(join(tmpdir(), "bench-postgres-"));
const server = await startOwnPostgres(process.env, { track_activity_query_size: "16384" });
const database = await server.database();
const [near, far] = [await openPostgres({ url: database.url }), await openPostgres({ url: database.url })];
const files = createFileStore({ root: work });
const pg = createRequire(new URL("../packages/store-postgres/package.json", import.meta.url))("pg");
const client = new pg.Client({ connectionString: database.url });
await client.connect();
const [text] = await Promise.all([seenStatement(database), storeAppend(near.store)]);

const samples = await interleave(
  { ours: () => storeAppend(near.store), bare: () => bareAppend(client, text), files: () => storeAppend(files) },
  { runs: 5 },
);
const ours = median(samples.ours);
const appends = { ours, unit: "events/s", better: "higher" };
row({ ...appends, name: `group append of ${SESSIONS} sessions`, floor: median(samples.bare), target: 0.5 });
row({ ...appends, name: `group append of ${SESSIONS} sessions against files`, floor: median(samples.files) });
row({
  name: "delivery to another node, p50",
  ours: await delivery(near.store, far.store),
  unit: "ms",
  target: "15 ms",
});

await client.end();
await Promise.all([near.close(), far.close(), files.close()]);
await database.drop();
await server.stop();
rmSync(work, { recursive: true, force: true });
