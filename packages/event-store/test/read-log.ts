import type { Entry, EventBody, EventStore, Lost } from "../src/index.js";

/** Reads a whole log: its records, and separately its lost runs. */
export async function readLog<E extends EventBody>(
  store: EventStore<E, object>,
  id: string,
  range: { from?: number; to?: number } = {},
): Promise<{ records: Entry<E>[]; lost: Lost[] }> {
  const records: Entry<E>[] = [];
  const lost: Lost[] = [];
  for await (const entry of store.read(id, range)) "last" in entry ? lost.push(entry) : records.push(entry);
  return { records, lost };
}
