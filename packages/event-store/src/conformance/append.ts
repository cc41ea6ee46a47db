import assert from "node:assert/strict";
import { type Cases, column, delta, idAt, readAll, refuses, type SuiteEvent, upTo } from "./bench.js";

const ID = idAt(1);

export const appendCases: Cases = {
  async "the first number is 1 and numbers have no gaps"({ store }) {
    const writer = await store.create(ID, {});
    assert.equal(writer.lastSeq, 0);
    assert.equal(writer.append([delta("a")])[0]?.seq, 1);
    writer.append([delta("b"), delta("c")]);
    assert.equal(writer.lastSeq, 3);
    await writer.written();
    for (let i = 0; i < 50; i++) writer.append([delta(String(i))]);
    await writer.written();
    assert.deepEqual(column(await readAll(store, ID), "seq"), upTo(53));
    assert.equal(await store.lastSeq(ID), 53);
  },
  async "a batch is written whole or not at all"({ store }) {
    const writer = await store.create(ID, {});
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    await refuses("invalid_event", () => writer.append([delta("a"), { type: "bad", metadata: circular }]));
    await refuses("invalid_event", () => writer.append([delta("a"), { turn: 1 } as unknown as SuiteEvent]));
    assert.equal(writer.lastSeq, 0);
    await writer.written();
    assert.deepEqual(await readAll(store, ID), []);
  },
  async "of racing openers one wins, and the log holds what that one appended"({ store }) {
    await (await store.create(ID, {})).close();
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => store.open(ID)));
    const won = results.filter((result) => result.status === "fulfilled");
    assert.equal(won.length, 1);
    const writer = won[0]!.value;
    await Promise.all(
      upTo(20).map(async (n) => {
        writer.append([delta(`${n}a`), delta(`${n}b`)]);
        await writer.durable();
      }),
    );
    assert.equal((await readAll(store, ID)).length, 40);
  },
  async "data is read back as it was appended"({ store }) {
    const writer = await store.create(ID, {});
    const events: SuiteEvent[] = [
      {
        type: "odd",
        metadata: { z: 1, a: "\u0000", m: "\ud83d\ude00", "\u2028": "\u2029", nested: { seq: 5, id: "x" } },
      },
      { type: "big", metadata: { text: "é".repeat(1024 * 1024) } },
      { type: 'quo"ted\n', metadata: { list: [1, null, "😀"] } },
      { metadata: { first: true }, type: "late_type" },
    ];
    const lines = column(writer.append(events), "line");
    await writer.written();
    const back = await readAll(store, ID);
    assert.deepEqual(column(back, "line"), lines);
    for (const [i, entry] of back.entries()) {
      assert.equal(entry.type, events[i]!.type);
      const { seq, id, ts, ...body } = entry.event;
      assert.equal(JSON.stringify(body), JSON.stringify(events[i]));
      assert.deepEqual([seq, /^evt-[0-9a-f]{8}$/.test(id), Number.isNaN(Date.parse(ts))], [i + 1, true, false]);
    }
  },
  async "half of a surrogate pair is on record as U+FFFD, in texts and in names"({ store }) {
    const writer = await store.create(ID, {});
    const [entry] = writer.append([{ type: "odd", metadata: { "\ud800": ["\\ud800", "\\\udfff", "😀\ud83d"] } }]);
    assert.deepEqual(entry!.body.metadata, { "\ufffd": ["\\ud800", "\\\ufffd", "😀\ufffd"] });
    await writer.written();
    for (const { event, line } of [entry!, ...(await readAll(store, ID))])
      assert.deepEqual([event.metadata, JSON.parse(line)], [entry!.body.metadata, event]);
  },
  async "a line starts with seq and id and ends with ts"({ store }) {
    const writer = await store.create(ID, {});
    const [entry] = writer.append([delta("hi")]);
    assert.match(
      entry!.line,
      /^\{"seq":1,"id":"evt-[0-9a-f]{8}","type":"text_delta","turn":0,"metadata":\{"text":"hi"\},"ts":"[^"]{24}"\}$/,
    );
    assert.deepEqual(JSON.parse(entry!.line), entry!.event);
  },
  async "stamps in a body do not replace the log's own"({ store }) {
    const writer = await store.create(ID, {});
    const [entry] = writer.append([{ seq: 99, id: "evt-x", ts: "never", type: "copied" } as SuiteEvent]);
    assert.equal(entry!.event.seq, 1);
    assert.deepEqual(JSON.parse(entry!.line), entry!.event);
  },
  async "an empty batch and an unknown session are refused"({ store }) {
    const writer = await store.create(ID, {});
    await refuses("empty_batch", () => writer.append([]));
    await refuses("not_found", () => store.open(idAt(9)));
    await refuses("not_found", () => store.lastSeq(idAt(9)));
    await refuses("not_found", () => readAll(store, idAt(9)));
    await refuses("not_found", () => store.subscribe(idAt(9), { from: 0 }, () => {}).ended);
    await refuses("exists", () => store.create(ID, {}));
    for (const bad of ["../up", "", "a/b", ".", "nul", "index.ndjson", "x".repeat(200), "a\u0000"]) {
      await refuses("invalid_id", () => store.create(bad, {}));
    }
  },
};
