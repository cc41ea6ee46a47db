/** Adds the output of running calls to their updates, in a form that the client can show, and keeps the lines of plain text. */
import { stripVTControlCharacters } from "node:util";
import type { ClientCapabilities, SessionUpdate, ToolCallContent } from "@chimera/acp-schema";
import type { RecordOf, SessionRecord, ToolKind } from "@chimera/acp-schema/events";
import { endOf } from "@chimera/acp-schema/text";
import { startTimer, type Timer } from "@chimera/acp-schema/timer";

/** Follows the running calls. `_meta` says whether the editor draws terminals for commands it did not run; `send` is absent on replay. */
export function createRunningCalls({ _meta }: ClientCapabilities, send: ((update: SessionUpdate) => void) | undefined) {
  const drawsTerminals = _meta?.["terminal_output"] === true;
  const calls = new Map<string, Running>();
  const later = (callId: string, call: Running): void => {
    call.timer = startTimer(PAUSE_MS, () => {
      call.timer = undefined;
      if (!call.isStale) return;
      send?.({ ...progressOf(callId), content: [tailOf(call)] });
      call.isStale = false;
      later(callId, call);
    });
  };
  const shapes: Shapes = {
    tool_call({ metadata: { call_id, kind } }) {
      calls.set(call_id, { kind, tail: "", isStale: false, timer: undefined });
      if (!drawsTerminals || kind !== "execute") return {};
      return { content: [terminalOf(call_id)], _meta: { terminal_info: { terminal_id: call_id } } };
    },
    tool_progress({ metadata: { call_id, stream, chunk } }) {
      const output = { "chimera.dev/output": { stream, chunk } };
      const call = calls.get(call_id);
      if (!call) return { _meta: output };
      call.tail = endOf(call.tail + chunk, TAIL_CHARS);
      if (drawsTerminals && call.kind === "execute")
        return { _meta: { ...output, terminal_output: { terminal_id: call_id, data: chunk } } };
      // The client gets the newest lines a few times a second at most, however fast a command prints.
      call.isStale = send === undefined || call.timer !== undefined;
      if (call.isStale) return { _meta: output };
      later(call_id, call);
      return { content: [tailOf(call)], _meta: output };
    },
    tool_result({ metadata: { call_id, success, error, content } }, update) {
      const call = calls.get(call_id);
      call?.timer?.stop();
      calls.delete(call_id);
      if (!call) return {};
      if (drawsTerminals && call.kind === "execute" && call.tail !== "") {
        const code = success ? 0 : Number(/^Exit code (\d+)$/.exec(error ?? "")?.[1] ?? 1);
        const exit = { terminal_id: call_id, exit_code: code, signal: null };
        return { content: [terminalOf(call_id)], _meta: { terminal_exit: exit } };
      }
      if (content?.length || !PLAIN.has(call.kind)) return {};
      return { content: update.content?.map(asLines) };
    },
  };
  return {
    /** The fields that its call adds to the update of a record, by type. */
    shapes: shapes as Readonly<Record<string, ((record: SessionRecord, update: Update) => object) | undefined>>,
    close() {
      for (const { timer } of calls.values()) timer?.stop();
      calls.clear();
    },
  };
}

/** The update of a call that is still running. */
export function progressOf(toolCallId: string) {
  return { sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" } as const;
}

/** Text as a code block, because editors read text as Markdown, which would join lines and hide marks. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

// --- internal ---

interface Running {
  readonly kind: ToolKind;
  /** The end of the call's output. */
  tail: string;
  /** Whether the call has printed since the client last got the tail. */
  isStale: boolean;
  timer: Timer | undefined;
}

type Shaped = "tool_call" | "tool_progress" | "tool_result";
type Update = { readonly content?: readonly ToolCallContent[] | null };
type Shapes = { readonly [T in Shaped]: (record: RecordOf<T>, update: Update) => object };

const TAIL_CHARS = 4096;
const PAUSE_MS = 150;

/** Kinds of calls whose text is the output of a program or the content of a file, and not Markdown. */
const PLAIN: ReadonlySet<ToolKind> = new Set(["execute", "read", "search"]);

function terminalOf(terminalId: string): ToolCallContent {
  return { type: "terminal", terminalId };
}

function tailOf({ tail }: Running): ToolCallContent {
  // Of a line that a program draws over several times, keep the last version.
  const text = stripVTControlCharacters(tail).replace(/[^\n]*\r(?!\n)/g, "");
  return { type: "content", content: { type: "text", text: fenced(text.trimEnd()) } };
}

function asLines(item: ToolCallContent): ToolCallContent {
  if (item.type !== "content" || item.content.type !== "text" || !item.content.text.trim().includes("\n")) return item;
  return { ...item, content: { ...item.content, text: fenced(item.content.text) } };
}
