import { createFileStore } from "../dist/index.js";

/** Reads acknowledgements ("id seq" lines) into a map of the highest number per session. */
export function parseAcks(text, acks = new Map()) {
  for (const line of text.split("\n").slice(0, -1)) {
    const [id, seq] = line.split(" ");
    if (Number(seq) > (acks.get(id) ?? 0)) acks.set(id, Number(seq));
  }
  return acks;
}

/** What is wrong with a store, given what was acknowledged: nothing may be lost, unreadable or out of order. */
export async function verifyStore(root, acks) {
  const problems = [];
  const store = createFileStore({ root });
  try {
    const onUnreadable = (id) => problems.push(`list: the summary of ${id} is unreadable`);
    const { sessions } = await store.list({ onUnreadable });
    for (const id of acks.keys()) {
      if (!sessions.some((session) => session.id === id)) problems.push(`${id}: not listed`);
    }
    for (const [id, acked] of acks) {
      try {
        let expected = 1;
        for await (const entry of store.read(id)) {
          if ("last" in entry) {
            problems.push(`${id}: ${JSON.stringify(entry)}`);
            continue;
          }
          if (entry.seq !== expected) problems.push(`${id}: ${entry.seq} in place of ${expected}`);
          if (entry.event.seq !== entry.seq)
            problems.push(`${id}: record ${entry.seq} calls itself ${entry.event.seq}`);
          expected = entry.seq + 1;
        }
        if (expected <= acked) problems.push(`${id}: ${acked} was acknowledged, ${expected - 1} is there`);
        const writer = await store.open(id);
        if (writer.lastSeq !== expected - 1)
          problems.push(`${id}: opens at ${writer.lastSeq}, reads to ${expected - 1}`);
        writer.append([{ type: "after" }]);
        await writer.durable();
        await writer.close();
      } catch (error) {
        problems.push(`${id}: ${error.stack}`);
      }
    }
  } finally {
    await store.close();
  }
  return problems;
}
