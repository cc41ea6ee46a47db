import type { SessionRecord } from "@chimera/acp-schema/events";
import type { Block, NoteLevel } from "./block.js";
import { type Fields, fieldsOf, numberOr, textOf } from "./fields.js";

/** What happened to the session rather than in the conversation, in a sentence; null for every other record. */
export function noteOf(record: SessionRecord, fields: Fields): Block | null {
  const row = NOTES[record.type];
  if (row === undefined) return null;
  const [level, say] = row;
  return {
    kind: "note",
    type: record.type,
    level: typeof level === "function" ? level(fields) : level,
    text: say(fields),
  };
}

// --- internal ---

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
    return `${verb} ${turns} turn${turns === 1 ? "" : "s"}, ${files} file${files === 1 ? "" : "s"}${kept}${left}`;
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
  forked: ["info", (fields) => `Forked from ${textOf(fields["from"])} at record ${textOf(fields["at"])}`],
  undo: ["info", rewound("Undid")],
  redo: ["info", rewound("Redid")],
};

function noticeLevel(fields: Fields): NoteLevel {
  return fields["level"] === "error" || fields["level"] === "warning" ? fields["level"] : "info";
}
