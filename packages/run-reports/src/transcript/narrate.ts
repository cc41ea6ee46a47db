/**
 * Turns records into blocks in one pass and bounded memory: joins pieces of text, combines a tool call with its result, and leaves out
 * technical records. Shows records of older programs and of unknown types as well as possible.
 */
import { createTurnEnds, describeLost, isLost, type Lost, type SessionRecord } from "@chimera/acp-schema/events";
import type { Block, NoteLevel } from "./block.js";
import { type Fields, fieldsOf, numberOr, textOf } from "./fields.js";
import { formatDuration } from "./text.js";
import { createToolCalls } from "./tool-calls.js";

/** Most characters in a joined text. A longer text becomes several blocks. */
const LONGEST_TEXT = 262_144;

export async function* narrate(records: AsyncIterable<SessionRecord | Lost>): AsyncGenerator<Block> {
  const narrator = createNarrator();
  for await (const record of records) yield* narrator.take(record);
  yield* narrator.finish();
}

// --- internal ---

interface Joined {
  readonly kind: "answer" | "thought";
  text: string;
}

interface Turn {
  startedAt: number;
  answered: boolean;
  plan: Fields | null;
  usage: Fields | null;
}

/** Records that a reader does not miss, or whose content another record has. */
const SILENT = new Set([
  "step_start",
  "tool_update",
  "turn_end",
  "title_changed",
  "commands_changed",
  "options_changed",
  "settings_reset",
  "agent_session",
  "vendor",
  "terminal_output",
  "file_open",
]);

function createNarrator() {
  const calls = createToolCalls(createNarrator);
  const queued = new Map<number | null, Block>();
  let joined: Joined | null = null;
  const whatEnds = createTurnEnds();
  let running = false;
  let turn: Turn = newTurn();

  function* flush(): Generator<Block> {
    if (joined !== null && joined.text.trim() !== "") {
      if (joined.kind === "answer") turn.answered = true;
      yield joined;
    }
    joined = null;
  }

  function* join(kind: Joined["kind"], text: string): Generator<Block> {
    if (joined?.kind !== kind) yield* flush();
    joined ??= { kind, text: "" };
    joined.text += text;
    if (joined.text.length >= LONGEST_TEXT) yield* flush();
  }

  function* dequeue(number: number | null): Generator<Block> {
    const prompt = queued.get(number);
    queued.delete(number);
    if (prompt !== undefined) yield prompt;
  }

  function* end(record: SessionRecord, fields: Fields): Generator<Block> {
    yield* flush();
    yield* calls.leftOver();
    yield* dequeue(record.turn);
    const output = textOf(fields["output"]);
    if (!turn.answered && output.trim() !== "") yield { kind: "answer", text: output };
    if (turn.plan !== null) yield { kind: "plan", entries: planEntries(turn.plan) };
    yield endBlock(record, fields, turn);
    turn = newTurn();
    running = false;
  }

  function* take(record: SessionRecord | Lost): Generator<Block> {
    if (isLost(record)) return yield { kind: "note", type: "damage", level: "error", text: describeLost(record) };
    const fields = fieldsOf(record.metadata);
    const type: string = record.type;
    const ends = whatEnds(record);
    switch (type) {
      case "text_delta":
        return yield* join("answer", textOf(fields["text"] ?? fields["content"]));
      case "thought_delta":
        return yield* join("thought", textOf(fields["text"]));
      case "user_message": {
        const origin = textOf(record.origin) || null;
        const block: Block = { kind: "prompt", text: textOf(fields["text"] ?? fields["content"]), origin };
        // A prompt that is accepted during a turn is shown when its own turn starts.
        if (running) queued.set(record.turn, block);
        else {
          yield* flush();
          turn.startedAt = Date.parse(textOf(record.ts));
          yield block;
        }
        return;
      }
      case "turn_start":
        yield* dequeue(record.turn);
        turn = newTurn(textOf(record.ts));
        running = true;
        return;
      case "plan":
      case "usage":
        turn[type] = fields;
        return;
      case "part_end":
      case "step_end":
        return yield* flush();
    }
    if (SILENT.has(type)) return;
    if (ends === "turn") return yield* end(record, fields);
    if (ends === "waiting") return yield* [...dequeue(record.turn), endBlock(record, fields, newTurn())];
    yield* flush();
    if (calls.knows(type)) return yield* calls.take(record, fields);
    yield noteOf(record, fields) ?? { kind: "other", type, metadata: record.metadata };
  }

  function* finish(): Generator<Block> {
    yield* flush();
    yield* calls.leftOver();
    yield* calls.running();
    yield* queued.values();
  }

  return { take, finish };
}

function newTurn(startedAt = ""): Turn {
  return { startedAt: Date.parse(startedAt), answered: false, plan: null, usage: null };
}

function planEntries(plan: Fields): { content: string; status: string }[] {
  const entries = Array.isArray(plan["entries"]) ? plan["entries"] : [];
  return entries.map((entry) => {
    const { content, status } = fieldsOf(entry);
    return { content: textOf(content), status: textOf(status) };
  });
}

function endBlock(record: SessionRecord, fields: Fields, turn: Turn): Block {
  const elapsed = Date.parse(record.ts) - turn.startedAt;
  const steps = numberOr(fields["steps"], 0);
  const calls = numberOr(fields["tool_calls_total"], 0);
  const cost = numberOr(fields["cost"], 0);
  const facts = [
    ...(Number.isFinite(elapsed) ? [formatDuration(elapsed)] : []),
    ...(steps > 0 ? [count(steps, "step")] : []),
    ...(calls > 0 ? [count(calls, "tool call")] : []),
    ...(turn.usage ? [count(numberOr(turn.usage["input"], 0) + numberOr(turn.usage["output"], 0), "token")] : []),
    ...(cost > 0 ? [`$${cost.toFixed(4)}`] : []),
  ];
  const outcome = record.type === "cancelled" ? "cancelled" : fields["success"] === false ? "failed" : "done";
  return { kind: "end", outcome, facts, error: textOf(fields["error"]) };
}

function count(amount: number, noun: string): string {
  return `${amount.toLocaleString("en-US")} ${noun}${amount === 1 ? "" : "s"}`;
}

/** A sentence about a change of the session itself; null for any other record. */
function noteOf(record: SessionRecord, fields: Fields): Block | null {
  if (!Object.hasOwn(NOTES, record.type)) return null;
  const [level, say] = NOTES[record.type]!;
  return {
    kind: "note",
    type: record.type,
    level: typeof level === "function" ? level(fields) : level,
    text: say(fields),
  };
}

type Row = readonly [level: NoteLevel | ((fields: Fields) => NoteLevel), say: (fields: Fields) => string];

const changed =
  (what: string) =>
  (fields: Fields): string => {
    const old = textOf(fields["old"]);
    return old === "" ? `${what}: ${textOf(fields["new"])}` : `${what}: ${old} → ${textOf(fields["new"])}`;
  };

const UNTOUCHED: ReadonlySet<string> = new Set(["conflict", "skipped", "unchanged"]);

const rewound =
  (verb: string) =>
  (fields: Fields): string => {
    const turns = numberOr(fields["turns"], 0);
    const outcomes = (Array.isArray(fields["files"]) ? fields["files"] : []).map(fieldsOf);
    const files = outcomes.filter(({ outcome }) => !UNTOUCHED.has(textOf(outcome))).length;
    const skipped = outcomes
      .filter(({ outcome }) => outcome === "skipped")
      .map(({ path, reason }) => `${textOf(path)} (${textOf(reason ?? "not kept").replaceAll("_", " ")})`);
    const conflicts = Array.isArray(fields["conflicts"]) ? fields["conflicts"] : [];
    const kept = conflicts.length === 0 ? "" : `; kept because they changed since: ${conflicts.map(textOf).join(", ")}`;
    const left = skipped.length === 0 ? "" : `; left alone: ${skipped.join(", ")}`;
    return `${verb} ${count(turns, "turn")}, ${count(files, "file")}${kept}${left}`;
  };

const offered = (options: unknown): string[] => {
  const names = (Array.isArray(options) ? options : []).map((option) => textOf(fieldsOf(option)["name"]));
  return names.length === 0 ? [] : [`(${names.join(", ")})`];
};

const NOTES: Readonly<Record<string, Row>> = {
  notice: [noticeLevel, (fields) => textOf(fields["text"])],
  error: [
    "error",
    (fields) => [fields["name"], fields["message"] ?? fields["error"]].map(textOf).filter(Boolean).join(": "),
  ],
  mode_changed: ["info", changed("Mode")],
  model_changed: ["info", changed("Model")],
  approval_changed: ["info", changed("Approval")],
  sharing_changed: ["info", (fields) => (fields["shared"] === true ? "Shared" : "No longer shared")],
  config_changed: ["info", (fields) => `${textOf(fields["id"])}: ${textOf(fields["value"])}`],
  sandbox_violation: [
    "warning",
    (fields) =>
      `The sandbox (${textOf(fields["mode"])}) stopped ${textOf(fields["tool"])}: ${textOf(fields["reason"])} ${textOf(fields["command"] ?? fields["path"])}`.trim(),
  ],
  question_asked: [
    "info",
    (fields) => [`Asked: ${textOf(fields["question"])}`, ...offered(fields["options"])].join(" "),
  ],
  question_answered: ["info", ({ answer }) => (answer == null ? "Nobody answered" : `Answered: ${textOf(answer)}`)],
  compaction: ["info", (fields) => `Earlier turns were summarised: ${textOf(fields["summary"])}`],
  cleared: ["info", () => "The conversation was cleared"],
  torn_down: ["info", () => "The session was ended for good"],
  forked: ["info", (fields) => `Forked from ${textOf(fields["from"])} at record ${textOf(fields["at"])}`],
  undo: ["info", rewound("Undid")],
  redo: ["info", rewound("Redid")],
};

function noticeLevel(fields: Fields): NoteLevel {
  return fields["level"] === "error" || fields["level"] === "warning" ? fields["level"] : "info";
}
