/** Records of one session -> lines of standard ACP. What is the same in all of them is encoded once. */
import type { ClientCapabilities, SessionUpdate } from "@chimera/acp-schema";
import type { Lost, SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { Entry } from "@chimera/event-store";
import { projectAcp } from "../project/acp.js";
import { lostFrame } from "../project/lost.js";

export interface Frames {
  /** What the client sees of a record. */
  updates(record: SessionRecord): SessionUpdate[];
  /** A line for each update; by default, for those of the record. */
  of(record: SessionRecord, updates?: readonly SessionUpdate[]): string[];
  /** The line of a text delta, cut from that of its record; null for every other type. */
  delta(entry: Entry<SessionEvent>): string | null;
  /** The line in place of records that cannot be read. */
  lost(records: Lost): string;
}

export function createFrames(sessionId: string, { session: shown }: ClientCapabilities): Frames {
  const shows = { notices: shown?.notices != null, compaction: shown?.compaction != null };
  const head = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":${JSON.stringify(sessionId)},"update":`;
  const text = deltaHead(head, "agent_message_chunk");
  const thought = deltaHead(head, "agent_thought_chunk");
  const updates = (record: SessionRecord) => projectAcp(record, shows);

  return {
    updates,
    of(record, shownOf = updates(record)) {
      const { seq, origin } = record;
      const meta = JSON.stringify({
        "chimera.dev/eventId": seq,
        ...(origin !== undefined && { "chimera.dev/origin": origin }),
      });
      return shownOf.map((update) => `${head}${JSON.stringify(update)},"_meta":${meta}}}`);
    },
    delta(entry) {
      const start = entry.type === "text_delta" ? text : entry.type === "thought_delta" ? thought : null;
      return start && `${start}${encodedText(entry.line)}}},"_meta":{"chimera.dev/eventId":${entry.seq}}}}`;
    },
    lost: (records) => lostFrame(sessionId, records, shows.notices),
  };
}

// --- internal ---

function deltaHead(head: string, sessionUpdate: string): string {
  return `${head}{"sessionUpdate":"${sessionUpdate}","content":{"type":"text","text":`;
}

const BEFORE_TEXT = '"metadata":{"text":';

/**
 * The JSON string literal of a delta's text, quotes included, cut from its record's line: the text is encoded once for the disk and
 * every client. The line's layout is fixed by the store: `…"metadata":{"text":"…"},…"ts":"…"}`.
 */
function encodedText(line: string): string {
  const start = line.indexOf(BEFORE_TEXT) + BEFORE_TEXT.length;
  // Inside a JSON string a quote is escaped, so the last `"},"` closes the text.
  return line.slice(start, line.lastIndexOf('"},"') + 1);
}
