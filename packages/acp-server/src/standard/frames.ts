/** Records of one session -> lines of standard ACP, the same live and on replay; what they share is encoded once. */
import type { ClientCapabilities, SessionUpdate, ToolCallContent } from "@chimera/acp-schema";
import type { Lost, RecordOf, SessionEvent, SessionRecord, ToolContent } from "@chimera/acp-schema/events";
import type { Entry } from "@chimera/event-store";
import { cutArgs, cutText, isLargeDiff } from "../project/bounds.js";
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

export function commandsUpdate(commands: RecordOf<"commands_changed">["metadata"]["commands"]): SessionUpdate {
  const availableCommands = commands.map(({ name, description, hint }) => ({
    name,
    description,
    ...(hint !== undefined && { input: { hint } }),
  }));
  return { sessionUpdate: "available_commands_update", availableCommands };
}

/** What a tool shows, or a question about it. */
export function shownContent(item: ToolContent): ToolCallContent {
  switch (item.type) {
    case "diff":
      return isLargeDiff(item.old_text, item.new_text)
        ? { type: "content", content: { type: "text", text: `${item.path} changed; the change is too large to show` } }
        : { type: "diff", path: item.path, oldText: item.old_text, newText: item.new_text };
    case "terminal":
      return { type: "terminal", terminalId: item.terminal_id };
    case "text":
      return { type: "content", content: { type: "text", text: cutText(item.text) } };
    case "block":
      return { type: "content", content: item.block } as ToolCallContent;
  }
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

/** What the client said it can show. */
interface ClientShows {
  readonly notices: boolean;
  readonly compaction: boolean;
}

type Projectors = { [T in SessionRecord["type"]]?: (record: RecordOf<T>, shows: ClientShows) => SessionUpdate[] };

const projectors: Projectors = {
  user_message: ({ metadata }) => {
    const blocks = metadata.content ?? [{ type: "text", text: metadata.text }];
    return blocks.map((content) => ({ sessionUpdate: "user_message_chunk", content }) as SessionUpdate);
  },
  text_delta: ({ metadata }) => [
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text: metadata.text } },
  ],
  thought_delta: ({ metadata }) => [
    { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: metadata.text } },
  ],
  tool_call: ({ metadata }) => [
    {
      sessionUpdate: "tool_call",
      toolCallId: metadata.call_id,
      title: metadata.title,
      kind: metadata.kind,
      status: "pending",
      locations: metadata.locations,
      rawInput: cutArgs(metadata.args),
    },
  ],
  tool_update: ({ metadata: { call_id, title, kind, args, locations, content } }) => [
    {
      sessionUpdate: "tool_call_update",
      toolCallId: call_id,
      status: "in_progress",
      ...(title !== undefined && { title }),
      ...(kind !== undefined && { kind }),
      ...(args !== undefined && { rawInput: cutArgs(args) }),
      ...(locations !== undefined && { locations }),
      ...(content !== undefined && { content: content.map(shownContent) }),
    },
  ],
  content: ({ metadata: { role, block } }) => [
    {
      sessionUpdate: role === "agent" ? "agent_message_chunk" : "agent_thought_chunk",
      content: block,
    } as SessionUpdate,
  ],
  tool_progress: ({ metadata }) => [
    {
      sessionUpdate: "tool_call_update",
      toolCallId: metadata.call_id,
      status: "in_progress",
      _meta: { "chimera.dev/output": { stream: metadata.stream, chunk: metadata.chunk } },
    },
  ],
  terminal_output: ({ metadata }) => [
    {
      sessionUpdate: "tool_call_update",
      toolCallId: metadata.call_id,
      status: "in_progress",
      content: [{ type: "terminal", terminalId: metadata.terminal_id }],
    },
  ],
  tool_result: ({ metadata }) => [
    {
      sessionUpdate: "tool_call_update",
      toolCallId: metadata.call_id,
      status: metadata.success ? "completed" : "failed",
      content: resultContent(metadata),
      rawOutput: { output: cutText(metadata.output), ...(metadata.error && { error: cutText(metadata.error) }) },
    },
  ],
  plan: ({ metadata }) => [{ sessionUpdate: "plan", entries: metadata.entries }],
  usage: ({ metadata }) => [
    {
      sessionUpdate: "usage_update",
      used: metadata.used,
      size: metadata.size,
      cost: { amount: metadata.total_usd, currency: "USD" },
    },
  ],
  title_changed: ({ metadata, ts }) => [{ sessionUpdate: "session_info_update", title: metadata.title, updatedAt: ts }],
  mode_changed: ({ metadata }) => [{ sessionUpdate: "current_mode_update", currentModeId: metadata.new }],
  notice: ({ metadata }, shows) =>
    shows.notices
      ? [{ sessionUpdate: "notice", severity: metadata.level, title: metadata.text }]
      : // A client that knows no notices shows what warns a person among the thoughts.
        metadata.level === "info"
        ? []
        : [{ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: `${metadata.text}\n` } }],
  sandbox_violation: ({ metadata }, shows) =>
    shows.notices
      ? [
          {
            sessionUpdate: "notice",
            severity: "warning",
            title: `${metadata.tool} was stopped`,
            description: metadata.reason,
          },
        ]
      : [],
  compaction: ({ metadata, id }, shows) =>
    shows.compaction
      ? [
          {
            sessionUpdate: "compaction_update",
            compactionId: id,
            status: "completed",
            summary: [{ type: "text", text: metadata.summary }],
          } as SessionUpdate,
        ]
      : [],
};

function projectAcp(record: SessionRecord, shows: ClientShows): SessionUpdate[] {
  const project = projectors[record.type] as
    | ((record: SessionRecord, shows: ClientShows) => SessionUpdate[])
    | undefined;
  return project?.(record, shows) ?? [];
}

function resultContent(metadata: RecordOf<"tool_result">["metadata"]): ToolCallContent[] {
  const shown = (metadata.content ?? []).map(shownContent);
  const { output, error } = metadata;
  // Most failures say in their output what went wrong.
  const text = metadata.success || !error || output.includes(error) ? output : `${output}\n${error}`.trimStart();
  if (shown.length === 0 && text) shown.push({ type: "content", content: { type: "text", text: cutText(text) } });
  return shown;
}
