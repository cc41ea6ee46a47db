// After the load: a server that knew nothing of it reads every session again, on both transports.
import { connectEditor } from "./acp-client.mjs";
import { createHttpClient } from "./http-client.mjs";
import { createLedger } from "./ledger.mjs";
import { addressOf } from "./program.mjs";

/** Holds all that was seen against all that is there; tells how many records and bytes that is. */
export async function verify({ ledger, programs, flags = [], ...shared }) {
  const program = programs.start(["serve", "--acp", "--http", "--port", "0", ...flags]);
  const replayed = createLedger();
  const editor = await connectEditor({ program, ledger: replayed, cursors: new Map(), ...shared });
  const address = await addressOf(program);
  const http = createHttpClient({ address: async () => address, ledger, ...shared });

  const seen = { sessions: 0, records: 0, bytes: 0, deleted: [] };
  for (const [id, { updates, deleted }] of ledger.sessions) {
    const { status, body } = await http.ask("GET", `/sessions/${id}`);
    if (deleted) {
      seen.deleted.push(id);
      if (status !== 404) ledger.fault(id, `deleted, and answers ${status}`);
      continue;
    }
    if (status !== 200) {
      ledger.fault(id, `reading it again: ${status}`);
      continue;
    }
    const records = await http.records(id, body.event_count);
    ledger.checkRecords(id, records);
    if (updates.size > 0) {
      await editor.catchUp(id);
      ledger.checkUpdates(id, replayed.entry(id).updates);
      await editor.close(id);
    }
    seen.sessions++;
    seen.records += records.length;
    seen.bytes += records.reduce((sum, { line }) => sum + Buffer.byteLength(line), 0);
    replayed.sessions.clear();
  }
  ledger.faults.push(...replayed.faults);
  http.hangUp();
  await programs.end(program, "input");
  return seen;
}
