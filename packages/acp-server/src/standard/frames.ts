/** Turns records of one session into lines of standard ACP, the same live and on replay. The parts that lines share are encoded once. */
import type { ClientCapabilities, SessionUpdate, ToolCallContent } from "@chimera/acp-schema";
import type { JoinedRecord } from "@chimera/acp-schema/conversation";
import {
  describeLost,
  isLost,
  type Location,
  type Lost,
  type RecordOf,
  type SessionEvent,
  type SessionRecord,
  type ToolContent,
} from "@chimera/acp-schema/events";
import type { Entry } from "@chimera/event-store";
import { cutArgs, cutText, isLargeDiff } from "../project/bounds.js";
import { createRunningCalls, progressOf } from "./running-calls.js";

export type Frames = ReturnType<typeof createFrames>;

/** @param send - Sends the client updates between records, such as the newest output of a running command; absent on replay. */
export function createFrames(
  sessionId: string,
  capabilities: ClientCapabilities,
  send?: (update: SessionUpdate) => void,
) {
  const { session: shown } = capabilities;
  const calls = createRunningCalls(capabilities, send);
  const shows = { notices: shown?.notices != null, compaction: shown?.compaction != null };
  const head = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":${JSON.stringify(sessionId)},"update":`;
  const messages = createMessages(head);
  /** The updates for a record, before its call adds to them. */
  const projected = (record: JoinedRecord): SessionUpdate[] => {
    if (endsMessage(record)) messages.end();
    const { seq, began = seq } = record;
    return projectAcp(record, { ...shows, messageId: (chunk) => messages.idOf(chunk, began) });
  };
  const updates = (record: JoinedRecord): SessionUpdate[] => {
    const made = projected(record);
    const shape = calls.shapes[record.type];
    return shape && made[0] ? [{ ...made[0], ...shape(record, made[0] as object) } as SessionUpdate] : made;
  };

  return {
    updates,
    /** Continues the messages these records left unfinished. */
    continueMessages(before: readonly (SessionRecord | Lost)[]) {
      messages.end();
      for (const record of before) isLost(record) ? messages.end() : projected(record);
    },
    /** One line for each update, by default for those of the record. */
    of(record: JoinedRecord, shownOf: readonly SessionUpdate[] = updates(record)) {
      const { seq, origin } = record;
      const meta = JSON.stringify({
        "chimera.dev/eventId": seq,
        ...(origin !== undefined && { "chimera.dev/origin": origin }),
      });
      return shownOf.map((update) => `${head}${JSON.stringify(update)},"_meta":${meta}}}`);
    },
    /** The line of a text delta, whose text is copied from the record's line; null for every other type. */
    delta({ type, seq, line }: Entry<SessionEvent>) {
      if (type !== "text_delta" && type !== "thought_delta") return null;
      return `${messages.headOf(CHUNKS[type], seq)}${encodedText(line)}}},"_meta":{"chimera.dev/eventId":${seq}}}}`;
    },
    /** The line that replaces records that cannot be read. */
    lost(records: Lost) {
      messages.end();
      const update = noticeUpdate({ severity: "error", title: describeLost(records) }, records.seq, shows.notices);
      return `${head}${JSON.stringify(update)}}}`;
    },
    close: calls.close,
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

/** The content that a tool, or a question about its call, shows. */
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

/** The changed files, each with the first line that differs, counted from 1. Null if the content has no diff. */
export function changedPlaces(content: readonly ToolContent[] | undefined): Location[] | null {
  const places = (content ?? []).flatMap((item) =>
    item.type === "diff" ? [{ path: item.path, line: firstChange(item.old_text ?? "", item.new_text) }] : [],
  );
  return places.length > 0 ? places : null;
}

/** Whether the agent begins another message after the record. */
export function endsMessage({ type, metadata }: SessionRecord): boolean {
  // The end of a text part ends the message too, so that a following text starts a new message.
  return ENDS_MESSAGE.has(type) || (type === "part_end" && metadata.kind !== "call" && metadata.seal === undefined);
}

// --- internal ---

type Chunk = "agent_message_chunk" | "agent_thought_chunk";

const CHUNKS = { text_delta: "agent_message_chunk", thought_delta: "agent_thought_chunk" } as const;

const ENDS_MESSAGE: ReadonlySet<string> = new Set([
  "user_message",
  "turn_start",
  "step_start",
  "tool_call",
  "notice",
  "sandbox_violation",
]);

/** The messages that the agent is writing, one of each kind, named after the record that began it. Their common head is encoded once. */
function createMessages(head: string) {
  const open = new Map<Chunk, { readonly id: string; readonly head: string }>();
  const openOf = (chunk: Chunk, seq: number) => {
    const known = open.get(chunk);
    if (known) return known;
    const id = `msg-${seq}`;
    const start = `${head}{"sessionUpdate":"${chunk}","messageId":"${id}","content":{"type":"text","text":`;
    const message = { id, head: start };
    open.set(chunk, message);
    return message;
  };
  return {
    idOf: (chunk: Chunk, seq: number) => openOf(chunk, seq).id,
    headOf: (chunk: Chunk, seq: number) => openOf(chunk, seq).head,
    end: () => open.clear(),
  };
}

function firstChange(before: string, after: string): number {
  let line = 1;
  for (let at = 0; at < after.length && before[at] === after[at]; at++) if (after[at] === "\n") line++;
  return line;
}

const BEFORE_TEXT = '"metadata":{"text":';

/**
 * The JSON string literal of a delta's text with its quotes, copied from its record's line, so that the text is encoded once for the
 * disk and every client. The store fixes the layout of the line: `…"metadata":{"text":"…"},…"ts":"…"}`.
 */
function encodedText(line: string): string {
  const start = line.indexOf(BEFORE_TEXT) + BEFORE_TEXT.length;
  // Quotes inside a JSON string are escaped, so the last `"},"` closes the text.
  return line.slice(start, line.lastIndexOf('"},"') + 1);
}

/** The updates that the client can show, and the ids of its messages. */
interface ClientShows {
  readonly notices: boolean;
  readonly compaction: boolean;
  /** The id of the message that a chunk belongs to. */
  messageId(chunk: Chunk): string;
}

type Notice = Pick<Extract<SessionUpdate, { sessionUpdate: "notice" }>, "severity" | "title" | "description">;

const NOTICE_WORDS: Readonly<Record<string, string>> = { info: "Notice", warning: "Warning", error: "Error" };

/** A client that does not know notices gets a quotation instead, in a message of its own, apart from the model's messages. */
function noticeUpdate(notice: Notice, seq: number, isKnown: boolean): SessionUpdate {
  if (isKnown) return { sessionUpdate: "notice", ...notice };
  const { severity, title, description } = notice;
  const lines = `**${NOTICE_WORDS[severity] ?? severity}:** ${title}${description ? `: ${description}` : ""}`;
  const text = `\n\n${lines.replace(/^/gm, "> ")}\n\n`;
  const content = { type: "text" as const, text, annotations: { audience: ["user" as const] } };
  return { sessionUpdate: "agent_message_chunk", messageId: `notice-${seq}`, content };
}

type Projectors = { [T in SessionRecord["type"]]?: (record: RecordOf<T>, shows: ClientShows) => SessionUpdate[] };

const projectors: Projectors = {
  user_message: ({ metadata, seq }) => {
    const blocks = metadata.content ?? [{ type: "text", text: metadata.text }];
    const head = { sessionUpdate: "user_message_chunk", messageId: `msg-${seq}` };
    return blocks.map((content) => ({ ...head, content }) as SessionUpdate);
  },
  text_delta: ({ type, metadata }, shows) => [pieceOf(CHUNKS[type], { type: "text", ...metadata }, shows)],
  thought_delta: ({ type, metadata }, shows) => [pieceOf(CHUNKS[type], { type: "text", ...metadata }, shows)],
  tool_call: ({ metadata }) => [
    {
      sessionUpdate: "tool_call",
      toolCallId: metadata.call_id,
      title: metadata.title,
      name: metadata.tool,
      kind: metadata.kind,
      status: "pending",
      locations: metadata.locations,
      rawInput: cutArgs(metadata.args),
    },
  ],
  tool_update: ({ metadata: { call_id, title, kind, args, locations, content } }) => [
    {
      ...progressOf(call_id),
      ...(title !== undefined && { title }),
      ...(kind !== undefined && { kind }),
      ...(args !== undefined && { rawInput: cutArgs(args) }),
      ...(locations !== undefined && { locations }),
      ...(content !== undefined && { content: content.map(shownContent) }),
    },
  ],
  content: ({ metadata: { role, block } }, shows) => [
    pieceOf(role === "agent" ? "agent_message_chunk" : "agent_thought_chunk", block, shows),
  ],
  tool_progress: ({ metadata }) => [progressOf(metadata.call_id)],
  terminal_output: ({ metadata: { call_id, terminal_id: terminalId } }) => [
    { ...progressOf(call_id), content: [{ type: "terminal", terminalId }] },
  ],
  tool_result: ({ metadata }) => [
    {
      sessionUpdate: "tool_call_update",
      toolCallId: metadata.call_id,
      status: metadata.success ? "completed" : "failed",
      content: resultContent(metadata),
      ...placesOf(metadata.content),
      rawOutput: { output: cutText(metadata.output), ...(metadata.error && { error: cutText(metadata.error) }) },
    },
  ],
  task_event: ({ metadata: { call_id, event } }) => {
    const { title, text } = event.metadata;
    const chunk = event.type === "tool_call" ? title : event.type === "text_delta" ? text : undefined;
    if (typeof chunk !== "string") return [];
    const output = { stream: "stdout", chunk: `${chunk}\n` };
    return [{ ...progressOf(call_id), _meta: { "chimera.dev/output": output, "chimera.dev/task": event } }];
  },
  // A job outlives its call, so clients get it as a call of its own.
  job_started: ({ metadata: { job_id, command } }) => [
    {
      sessionUpdate: "tool_call",
      toolCallId: job_id,
      title: cutText(`${job_id}: ${command}`),
      kind: "execute",
      status: "in_progress",
      rawInput: cutArgs({ command }),
    },
  ],
  job_output: ({ metadata: { job_id, stream, chunk } }) => [
    { ...progressOf(job_id), _meta: { "chimera.dev/output": { stream, chunk } } },
  ],
  job_ended: ({ metadata: { job_id, exit_code, by } }) => [
    {
      sessionUpdate: "tool_call_update",
      toolCallId: job_id,
      status: by === "itself" && exit_code !== 0 ? "failed" : "completed",
      rawOutput: { exit_code, by },
    },
  ],
  plan: ({ metadata }) => [{ sessionUpdate: "plan", entries: metadata.entries }],
  usage: ({ metadata }) => [
    {
      sessionUpdate: "usage_update",
      used: metadata.used,
      size: metadata.size,
      // Round away the noise that summing binary fractions leaves; prices are not more exact than a millionth of a dollar.
      cost: { amount: Math.round(metadata.total_usd * 1e6) / 1e6, currency: "USD" },
    },
  ],
  title_changed: ({ metadata, ts }) => [{ sessionUpdate: "session_info_update", title: metadata.title, updatedAt: ts }],
  mode_changed: ({ metadata }) => [{ sessionUpdate: "current_mode_update", currentModeId: metadata.new }],
  notice: ({ metadata, seq }, shows) => [
    noticeUpdate({ severity: metadata.level, title: metadata.text }, seq, shows.notices),
  ],
  sandbox_violation: ({ metadata, seq }, shows) => [
    noticeUpdate(
      { severity: "warning", title: `${metadata.tool} was stopped`, description: metadata.reason },
      seq,
      shows.notices,
    ),
  ],
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
  // A log may hold a type such as `constructor`, which every object inherits.
  if (!Object.hasOwn(projectors, record.type)) return [];
  const project = projectors[record.type] as (record: SessionRecord, shows: ClientShows) => SessionUpdate[];
  return project(record, shows);
}

function pieceOf(sessionUpdate: Chunk, content: object, { messageId }: ClientShows): SessionUpdate {
  return { sessionUpdate, messageId: messageId(sessionUpdate), content } as SessionUpdate;
}

function placesOf(content: readonly ToolContent[] | undefined): { locations?: Location[] } {
  const locations = changedPlaces(content);
  return locations ? { locations } : {};
}

function resultContent(metadata: RecordOf<"tool_result">["metadata"]): ToolCallContent[] {
  const shown = (metadata.content ?? []).map(shownContent);
  const { output, error } = metadata;
  // The output of most failed calls already contains the error.
  const text = metadata.success || !error || output.includes(error) ? output : `${output}\n${error}`.trimStart();
  if (shown.length === 0 && text) shown.push({ type: "content", content: { type: "text", text: cutText(text) } });
  return shown;
}
