import assert from "node:assert/strict";
import { withResolvers } from "../backend/waiters.js";
import { parseCursor } from "../cursor.js";
import { type Cases, collect, column, createWith, delta, idAt, recordOf, upTo, within } from "./bench.js";

const ID = idAt(1);

export const replayCases: Cases = {
  async "cursors: absent, 0, N, past the end, not a number"({ store }) {
    const writer = await createWith(store, ID, 5);
    const expectations: [string | undefined, number[]][] = [
      [undefined, upTo(6)],
      ["0", upTo(6)],
      ["3", upTo(6, 4)],
      ["5", [6]],
      ["99999999999999999999", [6]],
      ["-2", upTo(6)],
      ["x", upTo(6)],
    ];
    const readers = expectations.map(([text]) => collect(store, ID, parseCursor(text)));
    await Promise.all(readers.slice(0, 3).map((reader, i) => reader.until(expectations[i]![1].length - 1)));
    writer.append([delta("live")]);
    for (const [i, reader] of readers.entries()) {
      await reader.until(expectations[i]![1].length);
      assert.deepEqual(reader.seqs, expectations[i]![1]);
      assert.equal(reader.subscription.cursor, 6);
      reader.subscription.close();
    }
  },
  async "a reader from live gets only later entries"({ store }) {
    const writer = await store.create(ID, {});
    writer.append([delta("before")]);
    await writer.durable();
    await new Promise(setImmediate);
    const reader = collect(store, ID, "live");
    writer.append([delta("after")]);
    await reader.until(1);
    assert.deepEqual(reader.seqs, [2]);
    reader.subscription.close();
  },
  async "the seam between replay and live has no gap and no duplicate under load"({ store }) {
    const writer = await store.create(ID, {});
    const readers: ReturnType<typeof collect>[] = [];
    for (let round = 0; round < 100; round++) {
      writer.append(upTo(20).map((n) => delta(`${round}/${n}`)));
      if (round % 10 === 0) readers.push(collect(store, ID, round));
      if (round % 3 === 0) await new Promise(setImmediate);
    }
    await writer.durable();
    for (const [i, reader] of readers.entries()) {
      await reader.until(2000 - i * 10);
      assert.deepEqual(reader.seqs, upTo(2000, i * 10 + 1));
      reader.subscription.close();
    }
  },
  async "ten thousand entries are replayed in bounded batches"({ store }) {
    const writer = await store.create(ID, {});
    for (let i = 0; i < 100; i++) writer.append(upTo(100).map(() => delta("x".repeat(200))));
    await writer.durable();
    await new Promise(setImmediate);
    let seen = 0;
    let largest = 0;
    const subscription = store.subscribe(ID, { from: 0 }, (batch) => {
      seen += batch.length;
      largest = Math.max(
        largest,
        batch.reduce((sum, entry) => sum + recordOf(entry).line.length, 0),
      );
    });
    await within(
      "the replay",
      (async () => {
        while (seen < 10_000) await new Promise(setImmediate);
      })(),
    );
    subscription.close();
    assert.equal(seen, 10_000);
    assert.ok(largest <= 1024 * 1024, `a batch of ${largest} bytes`);
  },
  async "an appended record can be read at once"({ store }) {
    const writer = await store.create(ID, {});
    writer.append([delta("a")]);
    const seqs: number[] = [];
    for await (const entry of store.read(ID)) seqs.push(entry.seq);
    assert.deepEqual(seqs, [1]);
  },
  async "entries asked for side by side come in order, each once"({ store }) {
    await createWith(store, ID, 5);
    const entries = store.read(ID)[Symbol.asyncIterator]();
    const results = await Promise.all(upTo(6).map(() => entries.next()));
    assert.deepEqual(
      results.map((result) => (result.done ? null : result.value.seq)),
      [...upTo(5), null],
    );
  },
  async "sessions are isolated"({ store }) {
    const one = await store.create(idAt(1), {});
    const two = await store.create(idAt(2), {});
    const reader = collect(store, idAt(1), 0);
    one.append([delta("a")]);
    two.append([delta("b"), delta("c")]);
    one.append([delta("d")]);
    await reader.until(2);
    await two.written();
    assert.deepEqual(reader.seqs, [1, 2]);
    reader.subscription.close();
  },
  async "a slow reader holds up neither the writer nor other readers, and still gets everything"({ store }) {
    const writer = await store.create(ID, {});
    const slow: number[] = [];
    let release = (): void => {};
    const { promise: all, resolve: done } = withResolvers();
    const subscription = store.subscribe(ID, { from: 0 }, (batch) => {
      for (const entry of batch) slow.push(entry.seq);
      if (slow.length >= 3000) done();
      return slow.length > 1 ? undefined : new Promise<void>((resolve) => (release = resolve));
    });
    const quick = collect(store, ID, 0);
    writer.append([delta("first")]);
    await quick.until(1);
    for (let i = 1; i < 3000; i++) writer.append([delta("x".repeat(500))]);
    await quick.until(3000);
    assert.deepEqual(slow, [1]);
    release();
    await within("the slow reader", all);
    assert.deepEqual(slow, upTo(3000));
    subscription.close();
    quick.subscription.close();
  },
  async "a reader that throws ends alone, with its error"({ store }) {
    const writer = await store.create(ID, {});
    const broken = store.subscribe(ID, { from: 0 }, () => {
      throw new Error("broken reader");
    });
    const rejecting = store.subscribe(ID, { from: 0 }, async () => {
      throw new Error("broken reader");
    });
    const sound = collect(store, ID, 0);
    writer.append([delta("a")]);
    await sound.until(1);
    await assert.rejects(within("the end", broken.ended), /broken reader/);
    await assert.rejects(within("the end", rejecting.ended), /broken reader/);
    writer.append([delta("b")]);
    await sound.until(2);
    sound.subscription.close();
  },
  async "closing or aborting a subscription ends it at once"({ store }) {
    const writer = await store.create(ID, {});
    const abort = new AbortController();
    let calls = 0;
    const aborted = store.subscribe(ID, { from: 0, signal: abort.signal }, () => {
      calls++;
    });
    const late = store.subscribe(ID, { from: 0, signal: AbortSignal.abort() }, () => {
      calls++;
    });
    const closed = collect(store, ID, 0);
    closed.subscription.close();
    abort.abort();
    writer.append([delta("a")]);
    await writer.written();
    await new Promise(setImmediate);
    await within("the end", Promise.all([aborted.ended, late.ended, closed.subscription.ended]));
    assert.deepEqual([calls, closed.seqs], [0, []]);
  },
  async "a reader that leaves while its replay is under way gets nothing more"({ store }) {
    await createWith(store, ID, 5);
    await new Promise(setImmediate);
    let late = 0;
    for (const steps of upTo(8)) {
      let hasLeft = false;
      const subscription = store.subscribe(ID, { from: 0 }, () => {
        if (hasLeft) late++;
      });
      for (let step = 1; step < steps; step++) await Promise.resolve();
      subscription.close();
      hasLeft = true;
    }
    // Once this reader has its entries, the eight replays before it have ended, too.
    const last = collect(store, ID, 0);
    await last.until(5);
    await new Promise((resolve) => setTimeout(resolve, 20));
    last.subscription.close();
    assert.equal(late, 0);
  },
  async "readers get the entries that append returned"({ store }) {
    const writer = await store.create(ID, {});
    const lines: string[] = [];
    const subscription = store.subscribe(ID, { from: "live" }, (batch, { live }) => {
      assert.ok(live);
      for (const entry of batch) lines.push(recordOf(entry).line);
    });
    await new Promise(setImmediate);
    const entries = writer.append([delta("a"), delta("b")]);
    await writer.durable();
    await new Promise(setImmediate);
    assert.deepEqual(lines, column(entries, "line"));
    subscription.close();
  },
};
