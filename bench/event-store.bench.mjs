// The log against what it is made of: raw batched writes, raw parsing, and one file per event.
import {
  closeSync,
  fdatasync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createFileStore, makeSessionId } from "../packages/event-store/dist/index.js";
import { sessionSummaries } from "../packages/session/dist/index.js";
import { interleave, median, milliseconds, row } from "./report.mjs";

const sync = promisify(fdatasync);
const work = mkdtempSync(join(tmpdir(), "bench-event-store-"));
const store = createFileStore({ root: join(work, "home") });
let count = 0;
const nextId = () => makeSessionId("bench", Date.UTC(2026, 0, 1) + 1000 * ++count);
const event = (i) => ({
  type: "text_delta",
  turn: 0,
  metadata: { text: `delta number ${i} with some more text in it` },
});
const perSecond = (events, ms) => (events / ms) * 1000;

/** So many callers that each append one event and wait for the disk, again and again. */
async function inFlight(callers, events, appendDurable) {
  let next = 0;
  const caller = async () => {
    while (next < events) await appendDurable(next++);
  };
  return perSecond(events, await milliseconds(() => Promise.all(Array.from({ length: callers }, caller))));
}

async function storeAppend(callers, events) {
  const writer = await store.create(nextId(), {});
  const rate = await inFlight(callers, events, (i) => {
    writer.append([event(i)]);
    return writer.durable();
  });
  await writer.close();
  return rate;
}

/** The floor: the same JSON joined into one write and one fdatasync per turn of the loop, and nothing else. */
async function rawAppend(callers, events) {
  const fd = openSync(join(work, `raw-${++count}`), "w");
  let queue = [];
  let waiting = [];
  let busy = false;
  const flush = async () => {
    busy = true;
    while (queue.length > 0) {
      const [lines, due] = [queue, waiting];
      queue = [];
      waiting = [];
      writeSync(fd, lines.join(""));
      await sync(fd);
      for (const resolve of due) resolve();
      await new Promise(setImmediate);
    }
    busy = false;
  };
  const rate = await inFlight(callers, events, (i) => {
    queue.push(`${JSON.stringify({ seq: i, id: "evt-00000000", ...event(i), ts: "2026-04-25T09:12:08.114Z" })}\n`);
    if (!busy) {
      busy = true;
      setImmediate(flush);
    }
    return new Promise((resolve) => waiting.push(resolve));
  });
  closeSync(fd);
  return rate;
}

async function filePerEvent(events) {
  const directory = join(work, `files-${++count}`);
  mkdirSync(directory);
  const ms = await milliseconds(async () => {
    for (let i = 0; i < events; i++) {
      const fd = openSync(join(directory, `event-${String(i).padStart(6, "0")}.json`), "wx");
      writeSync(fd, JSON.stringify(event(i)));
      await sync(fd);
      closeSync(fd);
    }
  });
  return perSecond(events, ms);
}

async function append() {
  const { ours, floor, files } = await interleave(
    { ours: () => storeAppend(256, 40_000), floor: () => rawAppend(256, 40_000), files: () => filePerEvent(300) },
    { runs: 5 },
  );
  row({
    name: "append, 256 in flight",
    ours: median(ours),
    floor: median(floor),
    unit: "events/s",
    target: 0.5,
    better: "higher",
  });
  row({
    name: "append against one file per event",
    ours: median(ours),
    floor: median(files),
    unit: "events/s",
    target: 20,
    better: "higher",
  });
}

/** Appends of one turn's stream, in bursts, to so many readers. The floor calls them in a plain loop with parsed text ready. */
async function delivery(readers, events) {
  const ours = async () => {
    const id = nextId();
    const writer = await store.create(id, {});
    let seen = 0;
    let done = () => {};
    const all = new Promise((resolve) => {
      done = resolve;
    });
    for (let i = 0; i < readers; i++) {
      store.subscribe(id, { from: 0 }, (batch) => {
        seen += batch.length;
        if (seen === events * readers) done();
      });
    }
    const ms = await milliseconds(async () => {
      for (let i = 0; i < events; i++) {
        writer.append([event(i)]);
        if (i % 50 === 49) await new Promise(setImmediate);
      }
      await all;
    });
    await store.delete(id);
    return perSecond(events * readers, ms);
  };
  const floor = async () => {
    const fd = openSync(join(work, `deliver-${++count}`), "w");
    let seen = 0;
    const sinks = Array.from({ length: readers }, () => (batch) => {
      seen += batch.length;
    });
    const ms = await milliseconds(async () => {
      let batch = [];
      for (let i = 0; i < events; i++) {
        batch.push(JSON.stringify({ seq: i, id: "evt-00000000", ...event(i), ts: "2026-04-25T09:12:08.114Z" }));
        if (i % 50 !== 49) continue;
        writeSync(fd, `${batch.join("\n")}\n`);
        for (const sink of sinks) sink(batch);
        batch = [];
        await new Promise(setImmediate);
      }
    });
    closeSync(fd);
    if (seen !== events * readers) throw new Error("the floor lost events");
    return perSecond(events * readers, ms);
  };
  const samples = await interleave({ ours, floor }, { runs: 5 });
  row({
    name: `delivery to ${readers} readers`,
    ours: median(samples.ours),
    floor: median(samples.floor),
    unit: "events/s",
    better: "higher",
  });
}

async function replay(events) {
  const id = nextId();
  const writer = await store.create(id, {});
  for (let i = 0; i < events; i++) writer.append([event(i)]);
  await writer.durable();
  const raw = join(work, "replay.ndjson");
  const lines = [];
  for await (const entry of store.read(id)) lines.push(entry.line);
  writeFileSync(raw, `${lines.join("\n")}\n`);
  const parsed = () =>
    milliseconds(async () => {
      let sum = 0;
      for await (const entry of store.read(id)) sum += entry.event.seq;
      if (sum === 0) throw new Error("nothing was read");
    });
  const asLines = () =>
    milliseconds(async () => {
      for await (const _entry of store.read(id)) {
      }
    });
  const floor = () =>
    milliseconds(() => {
      let sum = 0;
      for (const line of readFileSync(raw, "utf8").split("\n")) if (line !== "") sum += JSON.parse(line).seq;
      if (sum === 0) throw new Error("nothing was read");
    });
  const samples = await interleave({ parsed, asLines, floor }, { runs: 5 });
  const rate = (name) => perSecond(events, median(samples[name]));
  row({
    name: "replay of 100,000, parsed",
    ours: rate("parsed"),
    floor: rate("floor"),
    unit: "events/s",
    target: 0.5,
    better: "higher",
  });
  row({
    name: "replay of 100,000, as lines",
    ours: rate("asLines"),
    floor: rate("floor"),
    unit: "events/s",
    target: 0.5,
    better: "higher",
  });
  await writer.close();
  const opening = async () => {
    let opened;
    const ms = await milliseconds(async () => {
      opened = await store.open(id);
    });
    await opened.close();
    return ms;
  };
  row({
    name: "opening that session",
    ours: median((await interleave({ opening }, { runs: 5 })).opening),
    unit: "ms",
    target: "50 ms",
  });
}

async function listing(sessions) {
  const root = join(work, "many");
  const many = createFileStore({ root, durability: "none" });
  for (let i = 0; i < sessions; i++) {
    const id = makeSessionId("bench", Date.UTC(2026, 0, 1) + 1000 * i);
    mkdirSync(join(root, "eventlog", id), { recursive: true });
    writeFileSync(
      join(root, "eventlog", id, "summary.json"),
      JSON.stringify({ run_id: id, prompt: "a prompt of usual length", cost_usd: 0.1 }),
    );
  }
  const cold = await milliseconds(() => many.list());
  const samples = await interleave(
    {
      rollup: () => milliseconds(() => many.list()),
      page: () => milliseconds(() => many.list({ limit: 20 })),
      restarted: async () => {
        const fresh = createFileStore({ root });
        const ms = await milliseconds(() => fresh.list());
        await fresh.close();
        return ms;
      },
      floor: () =>
        milliseconds(() => {
          for (const id of readdirSync(join(root, "eventlog"))) {
            if (id.startsWith("bench-")) JSON.parse(readFileSync(join(root, "eventlog", id, "summary.json"), "utf8"));
          }
        }),
    },
    { runs: 9 },
  );
  row({ name: "first list of 10,000 sessions, no index", ours: cold, unit: "ms" });
  const floor = median(samples.floor);
  row({
    name: "list of 10,000 against reading each summary",
    ours: median(samples.rollup),
    floor,
    unit: "ms",
    target: 0.7,
  });
  row({ name: "the same in a new process", ours: median(samples.restarted), floor, unit: "ms", target: 1 });
  row({ name: "newest 20 of 10,000", ours: median(samples.page), floor, unit: "ms", target: 0.2 });
  await many.close();
}

/** A filter that few sessions pass, over a store with their form of summaries. */
async function filtering() {
  const stores = [2000, 16_000].map((sessions) => {
    const root = join(work, `filtered-${sessions}`);
    for (let i = 0; i < sessions; i++) {
      const id = makeSessionId("bench", Date.UTC(2026, 0, 1) + 1000 * i);
      mkdirSync(join(root, "eventlog", id), { recursive: true });
      const summary = {
        prompt: "a prompt of usual length",
        turns: 1,
        cwd: "/work",
        model: i % 1000 ? "usual" : "rare",
      };
      writeFileSync(join(root, "eventlog", id, "summary.json"), JSON.stringify(summary));
    }
    return createFileStore({ root, durability: "none", summaries: sessionSummaries });
  });
  const [few, many] = stores.map((store) => () => milliseconds(() => store.list({ model: "rare", order: "touched" })));
  const samples = await interleave({ few, many }, { runs: 9 });
  row({
    name: "filtered list of 16,000 sessions against 2,000",
    ours: median(samples.many),
    floor: median(samples.few),
    unit: "ms",
    target: 10,
  });
  for (const store of stores) await store.close();
}

async function memory() {
  const id = nextId();
  const writer = await store.create(id, {});
  store.subscribe(id, { from: 0 }, () => {});
  const heap = () => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed / 1024 / 1024;
  };
  let early = 0;
  for (let i = 1; i <= 1_000_000; i++) {
    writer.append([event(i)]);
    if (i % 200 === 0) await new Promise(setImmediate);
    if (i === 1000) early = heap();
  }
  await writer.durable();
  row({ name: "heap at 1,000,000 events over heap at 1,000", ours: heap() - early, unit: "MiB", target: "10 MiB" });
  await store.delete(id);
}

try {
  await append();
  for (const readers of [1, 50, 500]) await delivery(readers, readers === 500 ? 2_000 : 10_000);
  await replay(100_000);
  await listing(10_000);
  await filtering();
  await memory();
} finally {
  await store.close();
  rmSync(work, { recursive: true, force: true });
}
