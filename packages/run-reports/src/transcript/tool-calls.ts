/** Combines the records of a tool call (request, permission, output, edits, result) into one block. */
import type { SessionRecord } from "@chimera/acp-schema/events";
import type { Block, FileDiff } from "./block.js";
import { type Fields, fieldsOf, numberOr, textOf } from "./fields.js";
import { compareTexts, parsePatch } from "./file-diff.js";

interface Call {
  readonly tool: string;
  readonly title: string;
  readonly args: unknown;
  readonly paths: ReadonlySet<string>;
  permission: string;
  progress: string;
  /** The narrator of a task's records, if another agent works below the call. */
  task: { take(record: SessionRecord): Iterable<Block>; finish(): Iterable<Block> } | null;
  inside: Block[];
  insideLength: number;
}

/** Most characters of a task's records. Further records are left out. */
const LONGEST_INSIDE = 4_194_304;

/** Most characters of progress to keep, for calls that end without a result. */
const LONGEST_PROGRESS = 262_144;

/** @param createInside makes a narrator for the records of a task */
export function createToolCalls(createInside: () => NonNullable<Call["task"]>) {
  const open = new Map<string, Call>();
  const jobs = new Map<string, Call>();
  const asked = new Map<string, string>();
  let edits: FileDiff[] = [];

  /** Takes the edits that belong to a result: those of its files, or all if no other call is running. */
  const takeEdits = (call: Call, contentPaths: ReadonlySet<string>): FileDiff[] => {
    const alone = open.size === 0;
    const mine = edits.filter(({ path }) => alone || call.paths.has(path) || contentPaths.has(path));
    edits = edits.filter((edit) => !mine.includes(edit));
    return mine;
  };

  const blockOf = (call: Call, fields: Fields, status: "ok" | "failed" | "unfinished"): Block => {
    const shown = contentDiffs(fields["content"]);
    const exact = takeEdits(call, new Set(shown.map((diff) => diff.path)));
    const covered = new Set(exact.map((diff) => diff.path));
    return {
      kind: "tool",
      tool: call.tool,
      title: call.title,
      args: call.args,
      status,
      output: textOf(fields["output"] ?? fields["result"]) || (status === "unfinished" ? call.progress : ""),
      error: textOf(fields["error"]),
      durationMs: numberOr(fields["duration_ms"], null),
      permission: call.permission,
      diffs: [...exact, ...shown.filter((diff) => !covered.has(diff.path))],
      inside: insideOf(call),
    };
  };

  const rows: Readonly<Record<string, (record: SessionRecord, fields: Fields) => Block[]>> = {
    tool_call(record, fields) {
      const call = callOf(fields);
      if ("result" in fields) return [blockOf(call, fields, "ok")];
      open.set(textOf(fields["call_id"]) || `seq ${record.seq}`, call);
      return [];
    },
    tool_progress(_record, fields) {
      addProgress(open.get(textOf(fields["call_id"])), fields);
      return [];
    },
    task_event(record, fields) {
      const call = open.get(textOf(fields["call_id"]));
      const { type, metadata } = fieldsOf(fields["event"]);
      if (!call || call.insideLength > LONGEST_INSIDE) return [];
      call.insideLength += textOf(metadata).length;
      call.task ??= createInside();
      call.inside.push(...call.task.take({ ...record, type: textOf(type), metadata } as SessionRecord));
      return [];
    },
    // A job may outlive its call and its turn. It becomes one block when it has ended.
    job_started(_record, fields) {
      const { command } = fields;
      const call = callOf({ tool: "job", title: command, args: { command } });
      jobs.set(textOf(fields["job_id"]), call);
      const text = `${textOf(fields["job_id"])} continues: ${call.title}`;
      return [{ kind: "note", type: "job_started", level: "info", text }];
    },
    job_output(_record, fields) {
      addProgress(jobs.get(textOf(fields["job_id"])), fields);
      return [];
    },
    job_ended(_record, fields) {
      const id = textOf(fields["job_id"]);
      const job = jobs.get(id);
      const failed = fields["by"] === "itself" && fields["exit_code"] !== 0;
      jobs.delete(id);
      const ended = `${id} ended (${textOf(fields["by"])})`;
      if (!job) return [{ kind: "note", type: "job_ended", level: "info", text: ended }];
      return [blockOf(job, { output: job.progress }, failed ? "failed" : "ok")];
    },
    tool_result(_record, fields) {
      const id = textOf(fields["call_id"]);
      const call = open.get(id) ?? callOf(fields);
      open.delete(id);
      return [blockOf(call, fields, fields["success"] === false ? "failed" : "ok")];
    },
    permission_request(_record, fields) {
      const call = open.get(textOf(fields["call_id"]));
      asked.set(textOf(fields["permission_id"]), textOf(fields["call_id"]));
      if (call) call.permission = "asked";
      return [];
    },
    permission_resolved(_record, fields) {
      const id = textOf(fields["permission_id"]);
      const call = open.get(asked.get(id) ?? "");
      asked.delete(id);
      if (call) call.permission = `${textOf(fields["decision"])}, by ${textOf(fields["by"])}`;
      return [];
    },
    file_edit(_record, fields) {
      const diff = parsePatch(textOf(fields["path"]), textOf(fields["diff"]));
      if (open.size === 0) return [{ kind: "edit", diff }];
      edits.push(diff);
      return [];
    },
  };

  return {
    knows: (type: string) => Object.hasOwn(rows, type),
    take: (record: SessionRecord, fields: Fields) => rows[record.type]!(record, fields),
    /** Calls without an end, and edits that belong to no call. */
    *leftOver(): Iterable<Block> {
      for (const [id, call] of [...open]) {
        open.delete(id);
        yield blockOf(call, {}, "unfinished");
      }
      asked.clear();
      for (const diff of edits) yield { kind: "edit", diff };
      edits = [];
    },
    /** Jobs whose end is not in the log. */
    *running(): Iterable<Block> {
      for (const job of jobs.values()) yield blockOf(job, {}, "unfinished");
      jobs.clear();
    },
  };
}

// --- internal ---

function callOf(fields: Fields): Call {
  const tool = textOf(fields["tool"] ?? fields["tool_name"]) || "tool";
  const locations = Array.isArray(fields["locations"]) ? fields["locations"] : [];
  return {
    tool,
    title: besides(tool, textOf(fields["title"])),
    args: fields["args"] ?? fields["arguments"] ?? {},
    paths: new Set(locations.map((location) => textOf(fieldsOf(location)["path"]))),
    permission: "",
    progress: "",
    task: null,
    inside: [],
    insideLength: 0,
  };
}

function insideOf({ task, inside, insideLength }: Call): Block[] {
  const rest = "The rest of the task is left out";
  const cut: Block[] = insideLength > LONGEST_INSIDE ? [{ kind: "note", type: "task", level: "info", text: rest }] : [];
  return [...inside, ...(task?.finish() ?? []), ...cut];
}

function addProgress(call: Call | undefined, fields: Fields): void {
  if (call && call.progress.length < LONGEST_PROGRESS) call.progress += textOf(fields["chunk"]);
}

/** Removes the tool's name from the beginning of a title such as `Edit greet.js`, because it is shown next to the title. */
function besides(tool: string, title: string): string {
  const rest = title.slice(tool.length);
  return title.toLowerCase().startsWith(tool.toLowerCase()) && /^(\s|$)/.test(rest) ? rest.trim() : title;
}

function contentDiffs(content: unknown): FileDiff[] {
  if (!Array.isArray(content)) return [];
  return content
    .map(fieldsOf)
    .filter((item) => item["type"] === "diff")
    .map(({ path, old_text, new_text }) =>
      compareTexts(textOf(path), old_text == null ? null : textOf(old_text), textOf(new_text)),
    );
}
