import assert from "node:assert/strict";
import { type Cases, collect, column, delta, idAt, readAll, refuses, upTo, within } from "./bench.js";

const ID = idAt(1);

export const lifeCycleCases: Cases = {
  async "a second writer is refused while the first is open, and may write once that is closed"({ store }) {
    const first = await store.create(ID, {});
    await refuses("claimed", () => store.open(ID));
    first.append([delta("a")]);
    await first.close();
    const second = await store.open(ID);
    assert.equal(second.lastSeq, 1);
    await refuses("closed", () => first.append([delta("stale")]));
    second.append([delta("b")]);
    await second.durable();
    assert.deepEqual(
      (await readAll(store, ID)).map((entry) => entry.event.metadata?.["text"]),
      ["a", "b"],
    );
    await first.close();
  },
  async "another handle cannot open a held session, and can at once after its release"({ store, second }) {
    if (second === undefined) return;
    const writer = await store.create(ID, {});
    writer.append([delta("a")]);
    await refuses("claimed", () => second.open(ID));
    await refuses("claimed", () => second.delete(ID));
    await writer.close();
    const other = await second.open(ID);
    other.append([delta("b")]);
    await other.durable();
    await refuses("claimed", () => store.open(ID));
    assert.equal((await readAll(store, ID)).length, 2);
  },
  async "another handle follows live, across a change of writer"({ store, second }) {
    if (second === undefined) return;
    const writer = await store.create(ID, {});
    writer.append([delta("a")]);
    await writer.written();
    const follower = collect(second, ID, 0);
    await follower.until(1);
    writer.append([delta("b"), delta("c")]);
    await follower.until(3);
    await writer.close();
    const other = await second.open(ID);
    other.append([delta("d")]);
    await follower.until(4);
    assert.deepEqual(follower.seqs, upTo(4));
    follower.subscription.close();
  },
  async "sessions can be created, found, listed and deleted"({ store }) {
    assert.equal(await store.has(ID), false);
    assert.equal(await store.readSummary(ID), null);
    await store.create(ID, { title: "one" });
    assert.equal(await store.has(ID), true);
    assert.deepEqual(await store.readSummary(ID), { title: "one" });
    await Promise.all([store.writeSummary(ID, { title: "two" }), store.writeSummary(ID, { title: "three" })]);
    assert.deepEqual(await store.readSummary(ID), { title: "three" });
    await refuses("not_found", () => store.writeSummary(idAt(9), {}));
    const { sessions } = await store.list();
    assert.deepEqual(
      sessions.map(({ id, summary }) => ({ id, summary })),
      [{ id: ID, summary: { title: "three" } }],
    );
    await store.delete(ID);
    await store.delete(ID);
    assert.equal(await store.has(ID), false);
    assert.deepEqual((await store.list()).sessions, []);
    await store.create(ID, {});
  },
  async "lists filter by prefix and time, newest first, in pages that do not repeat"({ store }) {
    for (const n of [3, 1, 5, 2, 4]) await store.create(idAt(n), {});
    await store.create(idAt(6, "other"), {});
    const all = await store.list({ prefixes: ["suite"] });
    const ids = column(all.sessions, "id");
    assert.deepEqual(ids, [idAt(5), idAt(4), idAt(3), idAt(2), idAt(1)]);
    const paged: string[] = [];
    let after: string | undefined;
    for (let page = 0; page < 10; page++) {
      const { sessions, next } = await store.list({ prefixes: ["suite"], limit: 2, ...(after ? { after } : {}) });
      assert.ok(sessions.length <= 2);
      paged.push(...column(sessions, "id"));
      if (next === null) break;
      after = next;
    }
    assert.deepEqual(paged, ids);
    const since = await store.list({ since: Date.UTC(2026, 3, 25, 12, 3, 5) });
    assert.deepEqual(column(since.sessions, "id"), [idAt(6, "other"), idAt(5)]);
    await refuses("invalid_id", () => store.list({ after: "%%%" }));
  },
  async "lists filter by fields of the summary before they cut a page, and prefer rows the caller knows"({ store }) {
    for (const n of upTo(6))
      await store.create(idAt(n), { cwd: n % 2 ? "/odd" : "/even", turns: n > 2 ? 1 : 0, key: `key ${n}` });
    const idsOf = async (options: Parameters<typeof store.list>[0]): Promise<string[]> =>
      column((await store.list(options)).sessions, "id");
    assert.deepEqual(await idsOf({ cwd: "/odd", prompted: true, limit: 2 }), [idAt(5), idAt(3)]);
    assert.deepEqual(await idsOf({ prompted: false }), [idAt(2), idAt(1)]);
    assert.deepEqual(await idsOf({ key: "key 4" }), [idAt(4)]);
    assert.deepEqual(await idsOf({ key: "key 4", cwd: "/odd" }), []);
    const { next } = await store.list({ cwd: "/even", limit: 2 });
    assert.deepEqual(await idsOf({ cwd: "/even", limit: 2, after: next! }), [idAt(2)]);
    const known = new Map([[idAt(1), { id: idAt(1), summary: { cwd: "/moved", turns: 1 }, touched: 0 }]]);
    assert.deepEqual(await idsOf({ cwd: "/moved", known }), [idAt(1)]);
  },
  async "an import is a session with the times of its events, and replaces another only when it succeeds"({ store }) {
    const events = upTo(3).map((n) => ({ event: delta(String(n)), at: n * 1000 }));
    await store.importLog(ID, { summary: { title: "first" }, events });
    await refuses("exists", () => store.importLog(ID, { summary: {}, events }));
    const broken = [...events, { event: { type: 1 as unknown as string }, at: null }];
    await refuses("invalid_event", () => store.importLog(ID, { summary: {}, events: broken, replace: true }));
    assert.deepEqual(
      (await readAll(store, ID)).map((entry) => [entry.seq, entry.event.ts]),
      upTo(3).map((n) => [n, `1970-01-01T00:00:0${n}.000Z`]),
    );
    assert.deepEqual(await store.readSummary(ID), { title: "first" });
    const writer = await store.open(ID);
    await refuses("claimed", () => store.importLog(ID, { summary: {}, events, replace: true }));
    await writer.close();
    await store.importLog(ID, { summary: {}, events: events.slice(0, 1), replace: true });
    assert.equal((await readAll(store, ID)).length, 1);
  },
  async "a log keeps its origin from its first record on, and the one that takes its place has another"({ store }) {
    const event = delta("1");
    const writers = [await store.create(ID, {})];
    writers[0]!.append([event]);
    for (const replace of [false, true, true, false]) {
      await writers.at(-1)!.close();
      if (replace) await store.importLog(ID, { summary: {}, events: [{ event, at: 0 }], replace });
      writers.push(await store.open(ID));
    }
    const [made, opened, ...others] = writers.map((writer) => writer.origin());
    assert.deepEqual([opened, others[2], new Set(others).size], [made, others[1], 2]);
    assert.ok(!others.includes(made!));
  },
  async "an import of another log's records keeps their lines"({ store }) {
    const writer = await store.create(ID, {});
    writer.append(upTo(500).map((n) => delta("x".repeat(n))));
    await writer.durable();
    await store.importLog(idAt(2), { summary: { title: "moved" }, records: store.read(ID, { to: 400 }) });
    const lines = async (id: string): Promise<string[]> => column(await readAll(store, id), "line");
    assert.deepEqual(await lines(idAt(2)), (await lines(ID)).slice(0, 400));
    const moved = await store.open(idAt(2));
    assert.equal(moved.append([delta("next")])[0]?.seq, 401);
    await moved.close();
  },
  async "the order by last write follows summaries and appends"({ store }) {
    for (const n of [1, 2, 3]) await store.create(idAt(n), {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    await store.writeSummary(idAt(1), { title: "touched" });
    const { sessions } = await store.list({ order: "touched", limit: 1 });
    assert.equal(sessions[0]?.id, idAt(1));
  },
  async "deleting ends subscribers and the writer"({ store, second }) {
    const writer = await store.create(ID, {});
    writer.append([delta("a")]);
    await writer.written();
    const here = collect(store, ID, 0);
    const there = second === undefined ? null : collect(second, ID, 0);
    await here.until(1);
    await there?.until(1);
    await store.delete(ID);
    await within("the end", here.subscription.ended);
    if (there !== null) await within("the end in the other handle", there.subscription.ended);
    await refuses("closed", () => writer.append([delta("b")]));
  },
  async "a copy keeps the copied records, and later appends do not reach the original"({ store }) {
    const writer = await store.create(ID, {});
    writer.append(upTo(5).map((n) => delta(String(n))));
    await writer.written();
    const copy = await store.copy(ID, idAt(2), { upTo: 3, summary: { title: "copy" } });
    assert.equal(copy.lastSeq, 3);
    copy.append([{ type: "forked" }]);
    await copy.durable();
    const original = await readAll(store, ID);
    const copied = await readAll(store, idAt(2));
    assert.deepEqual(column(copied.slice(0, 3), "line"), column(original.slice(0, 3), "line"));
    assert.deepEqual([copied.length, copied[3]?.type, original.length], [4, "forked", 5]);
    assert.deepEqual(await store.readSummary(idAt(2)), { title: "copy" });
    await refuses("exists", () => store.copy(ID, idAt(2), { upTo: 1, summary: {} }));
    await refuses("not_found", () => store.copy(idAt(9), idAt(8), { upTo: 1, summary: {} }));
  },
  async "a copy appears with the records that are added to it"({ store }) {
    const writer = await store.create(ID, {});
    writer.append(upTo(3).map((n) => delta(String(n))));
    await writer.written();
    const added = [{ type: "forked" }, delta("own")];
    const copy = await store.copy(ID, idAt(2), { upTo: 2, summary: {}, added });
    assert.equal(copy.lastSeq, 4);
    copy.append([delta("next")]);
    await copy.durable();
    const copied = await readAll(store, idAt(2));
    assert.deepEqual(column(copied, "seq"), upTo(5));
    assert.deepEqual(column(copied, "type"), ["text_delta", "text_delta", "forked", "text_delta", "text_delta"]);
    const ordered = copied.map(({ event }) => event.ts);
    assert.deepEqual(ordered, [...ordered].sort());
  },
  async "closing the store ends everything and keeps what was appended"({ store, second }) {
    const writer = await store.create(ID, {});
    const reader = collect(store, ID, 0);
    writer.append([delta("a")]);
    await store.close();
    await within("the end", reader.subscription.ended);
    await refuses("closed", () => writer.append([delta("b")]));
    await refuses("closed", () => store.open(ID));
    if (second !== undefined) assert.equal((await readAll(second, ID)).length, 1);
  },
};
