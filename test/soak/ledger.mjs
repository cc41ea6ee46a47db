// Everything that each client saw of each session, to compare with later updates and at the end with the log.

/** Without the tail of what a command has said so far: it is shown while the command runs, and a replay has the whole at its end. */
function lasting({ content, ...update }) {
  return update.status === "in_progress" && update._meta?.["chimera.dev/output"] ? update : { content, ...update };
}

export function createLedger() {
  const sessions = new Map();
  const faults = [];
  const counts = { records: 0, updates: 0, checks: 0 };

  const entry = (id) => {
    if (!sessions.has(id)) sessions.set(id, { records: new Map(), updates: new Map(), deleted: false });
    return sessions.get(id);
  };
  const fault = (id, text) => {
    faults.push(`${id}: ${text}`);
    console.error(`FAULT ${id}: ${text}`);
  };

  return {
    sessions,
    faults,
    counts,
    entry,
    fault,
    /** A record of an event stream. `cursor` is the last one this reader had: the next must follow it. */
    record(id, seq, line, cursor) {
      counts.records++;
      if (seq !== cursor + 1) fault(id, `record ${seq} came after ${cursor}`);
      const { records } = entry(id);
      const before = records.get(seq);
      if (before !== undefined && before !== line) fault(id, `record ${seq} changed:\n${before}\n${line}`);
      records.set(seq, line);
    },
    /** An update of an ACP connection; one record may make several. `cursor` is the last id this client had. */
    update(id, eventId, params, cursor) {
      counts.updates++;
      if (eventId < cursor) fault(id, `update ${eventId} came after ${cursor}`);
      const { updates } = entry(id);
      if (!updates.has(eventId)) updates.set(eventId, []);
      updates.get(eventId).push(JSON.stringify({ ...params, update: lasting(params.update) }));
    },
    /** Holds the whole log, read once more, against every record seen. */
    checkRecords(id, all) {
      counts.checks++;
      all.forEach(({ seq, line }, index) => {
        if (seq !== index + 1) fault(id, `the log has ${seq} in place ${index + 1}`);
        const seen = entry(id).records.get(seq);
        if (seen !== undefined && seen !== line) fault(id, `record ${seq} changed:\n${seen}\n${line}`);
      });
      const missing = [...entry(id).records.keys()].filter((seq) => seq > all.length);
      if (missing.length > 0) fault(id, `lost ${missing.join(", ")}: the log ends at ${all.length}`);
    },
    /** Holds a whole replay against every update seen: all of them, once, the same, and nothing skipped on the way. */
    checkUpdates(id, replayed) {
      counts.checks++;
      const { updates } = entry(id);
      const last = Math.max(0, ...updates.keys());
      for (const [eventId, frames] of updates) {
        const again = replayed.get(eventId);
        if (JSON.stringify(again) !== JSON.stringify(frames))
          fault(id, `update ${eventId} was\n${frames}\nand is now\n${again}`);
      }
      for (const [eventId, frames] of replayed) {
        // A client does not get its own prompts back.
        const own = frames.every((frame) => frame.includes('"user_message_chunk"'));
        if (eventId <= last && !own && !updates.has(eventId)) fault(id, `update ${eventId} was never sent: ${frames}`);
      }
    },
  };
}
