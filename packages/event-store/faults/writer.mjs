// Appends to a few sessions until it is killed, and prints "id seq" once a record is durable. Restarts open what is there.
import { writeSync } from "node:fs";
import { createFileStore, isStoreError, makeSessionId } from "../dist/index.js";

const [root, sessions = "4", limit = "Infinity", tag = "0"] = process.argv.slice(2);
const store = createFileStore({ root });

async function openOrCreate(id) {
  try {
    return await store.create(id, { run_id: id });
  } catch (error) {
    if (!isStoreError(error) || error.code !== "exists") throw error;
    return store.open(id);
  }
}

async function work(n) {
  const id = makeSessionId(
    "fault",
    Date.UTC(2026, 0, 1, 0, 0, n),
    `${tag.padStart(4, "0")}${String(n).padStart(4, "0")}`,
  );
  const writer = await openOrCreate(id);
  writer.lost.addEventListener("abort", () => writeSync(1, `${id} lost\n`));
  for (let i = 0; i < Number(limit); i++) {
    try {
      const entries = writer.append([
        { type: "text_delta", turn: 0, metadata: { text: `record ${i} ${"x".repeat((i * 37) % 300)}` } },
        { type: "step_end", turn: 0, metadata: { step: i } },
      ]);
      const { seq } = entries[1];
      await writer.durable();
      writeSync(1, `${id} ${seq}\n`);
    } catch (error) {
      writeSync(1, `${id} refused ${error.code}\n`);
      if (error.code === "fenced") break;
    }
    if (i % 7 === 0) await store.writeSummary(id, { run_id: id, steps: i }).catch(() => {});
  }
  await writer.close();
}

await Promise.all(Array.from({ length: Number(sessions) }, (_, n) => work(n)));
await store.close();
