// What synced.test.ts looks at from outside: `node synced.mjs <which> <root>`. `mark` is a call that changes nothing and can be seen there.
import { rmdirSync } from "node:fs";
import { createFileStore } from "../dist/index.js";

const [, , which, root] = process.argv;
const [A, B] = ["mine-20260425T120300-aaaa1111", "mine-20260425T120301-bbbb2222"];

const begin = async (writer) => {
  writer.append([{ type: "note" }]);
  await writer.durable();
};

function mark() {
  try {
    rmdirSync("mark");
  } catch {
    // There is no such directory.
  }
}

const LIVES = {
  async second(store) {
    await store.create(A, {});
    mark();
    await begin(await store.create(B, {}));
  },
  async again(store) {
    await (await store.create(A, {})).close();
    mark();
    await begin(await store.open(A));
  },
  async births() {
    const form = {
      birth: (summary) => summary,
      read: (_id, stored) => stored,
      unheld: (summary) => summary,
      isOutdated: () => false,
      derive: async (_id, born) => born,
    };
    const store = createFileStore({ root, summaries: form });
    await begin(await store.create(A, { cwd: "/work" }));
    // Too long for the header of a segment.
    await begin(await store.create(B, { cwd: `/${"work".repeat(10_000)}` }));
    await store.close();
  },
  async together(store) {
    const ids = Array.from({ length: 20 }, (_, at) => `mine-20260425T120300-${String(at).padStart(8, "0")}`);
    const writers = await Promise.all(ids.map((id) => store.create(id, {})));
    mark();
    await Promise.all(writers.map(begin));
    mark();
  },
  async copy(store) {
    await begin(await store.create(A, {}));
    mark();
    await (await store.copy(A, B, { upTo: 1, summary: {} })).durable();
    mark();
  },
  async deletion(store) {
    await begin(await store.create(A, {}));
    mark();
    await store.delete(A);
    mark();
  },
};

const store = createFileStore({ root });
await LIVES[which](store);
await store.close();
