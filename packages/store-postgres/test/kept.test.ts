// Remembered answers and the chain of decisions, which all nodes share, against a real server.
import type { AuditChain } from "@chimera/acp-schema/policy";
import type { EventBody } from "@chimera/event-store";
import { afterEach, describe, expect, it } from "vitest";
import { openPostgres, type PostgresStorage } from "../src/index.js";
import { startPostgres, type TestDatabase } from "../src/testing.js";
import { startCable } from "./cable.js";
import { withDatabase } from "./with-database.js";

let database: TestDatabase;
let storages: PostgresStorage<EventBody, object>[] = [];

const open = async (url = database.url, workspaceHost = "here") => {
  const storage = await openPostgres<EventBody, object>({ url, workspaceHost });
  storages.push(storage);
  return storage;
};

/** Adds a line that names the one before it, and tries again while another node is quicker. */
async function add(chain: AuditChain, text: string): Promise<void> {
  for (;;) {
    const last = (await chain.head()) ?? { n: 0, hash: "first" };
    if (await chain.extend(last, `${last.hash} < ${text}`, { n: last.n + 1, hash: text })) return;
  }
}

describe("what nodes share", { tags: ["needs-postgres"], timeout: 60_000 }, () => {
  withDatabase(startPostgres, (made) => (database = made));
  afterEach(async () => {
    await Promise.all(storages.map((storage) => storage.close().catch(() => {})));
    storages = [];
  });

  it("shows every node each answer, and a mark that changes with each", async () => {
    const [one, other] = [await open(), await open()];
    expect([await other.answers.mark("/work"), await other.answers.read("/work")]).toEqual(["", ""]);
    const marks = new Set<string>();
    for (const [i, node] of [one, other, one].entries()) {
      await node.answers.add("/work", `answer ${i}`);
      marks.add(await other.answers.mark("/work"));
    }
    expect(marks.size).toBe(3);
    expect(await other.answers.read("/work")).toBe("answer 0\nanswer 1\nanswer 2");
    expect(await one.answers.mark("/work")).toBe(await other.answers.mark("/work"));
  });

  it("keeps the answers of a path to the host that has its files", async () => {
    const [here, there] = [await open(), await open(database.url, "there")];
    await here.answers.add("/same/path", "always");
    expect(await there.answers.read("/same/path")).toBe("");
  });

  it("keeps one chain of lines that follow each other when nodes write at once and replies are lost", async () => {
    const cable = await startCable(database.url);
    const nodes = await Promise.all([open(), open(), open(cable.url)]);
    const texts = Array.from({ length: 60 }, (_, i) => `line ${i}`);
    await Promise.all(
      nodes.map(async ({ audit }, at) => {
        for (const [i, text] of texts.entries()) {
          if (i % nodes.length !== at) continue;
          if (i % 4 === 2) cable.swallowReply();
          await add(audit, text);
        }
      }),
    );
    const lines: string[] = [];
    const [chain] = await nodes[0]!.chains.all();
    for await (const line of chain!.lines()) lines.push(line);
    expect(chain).toMatchObject({
      name: expect.stringMatching(/^audit-shared-/),
      head: { n: 60, hash: lines.at(-1)!.split(" < ")[1] },
    });
    const [before, after] = [lines.map((line) => line.split(" < ")[0]), lines.map((line) => line.split(" < ")[1])];
    expect(before).toEqual(["first", ...after.slice(0, -1)]);
    expect(after.toSorted()).toEqual(texts.toSorted());
    await storages.pop()?.close();
    await cable.close();
  });

  it("notices changed people and tokens when no message came", async () => {
    const [node, other] = [await open(), await open()];
    await node.people.change(() => "before");
    const heard: string[] = [];
    let fails = true;
    node.people.onChange(async () => {
      // After a failed read, the list is read again.
      fails = !fails;
      if (!fails) throw new Error("not now");
      heard.push("people");
    });
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual(["people"]);
    await database.query("UPDATE chimera.people SET list = 'after'");
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual(["people", "people"]);

    const ids = ["otter-20260425T120300-aaaa1111", "otter-20260425T120300-bbbb2222", "otter-20260425T120300-cccc3333"];
    const known = new Map(ids.map((id) => [id, Buffer.from(id)]));
    for (const id of ids) {
      await other.store.create(id, {});
      await other.tokens.write(id, { hash: known.get(id)!, by: "ann" });
    }
    const voided: string[] = [];
    node.tokens.onVoid(
      () => known,
      (id) => {
        voided.push(id);
        known.delete(id);
      },
    );
    await database.query("UPDATE chimera.session SET token = NULL WHERE sid = $1", [ids[1]!]);
    await expect.poll(() => voided, { timeout: 10_000 }).toEqual([ids[1]]);
    const another = { hash: Buffer.from("another"), by: null };
    await other.tokens.write(ids[2]!, another);
    await expect.poll(() => voided, { timeout: 10_000 }).toEqual([ids[1], ids[2]]);
    expect([...known.keys()]).toEqual([ids[0]]);
    expect(await node.tokens.read(ids[0]!)).toEqual({ hash: Buffer.from(ids[0]!), by: "ann" });
    // A node that removes the token it knows leaves a newer one alone.
    await other.tokens.remove(ids[2]!, Buffer.from(ids[2]!));
    expect(await node.tokens.read(ids[2]!)).toEqual(another);
    await other.tokens.remove(ids[2]!, another.hash);
    await other.tokens.remove(ids[0]!);
    expect(await Promise.all([node.tokens.read(ids[2]!), node.tokens.read(ids[0]!)])).toEqual([null, null]);
  });
});
