/** What a view keeps between records: text that is not complete, folded text, the plan, the output of jobs, and how long a turn waited. */
import type { Metadata, PlanEntry } from "@chimera/acp-schema/events";
import { endOf, startOf } from "@chimera/acp-schema/text";
import { plainLines, wrap } from "../terminal/markdown.js";
import { folded } from "../terminal/permission.js";
import type { Style } from "../terminal/style.js";
import { plain, plainLine } from "../terminal/text.js";

/** Most characters of a command's output to keep. The end is kept. */
export const TAIL_CHARACTERS = 16 * 1024;

interface FoldsOptions {
  readonly style: Style;
  readonly line: (text: string) => void;
  /** The name of the key that unfolds; null folds nothing. */
  readonly more: string | null;
}

/** Prints long text in part, and keeps the whole of it for a person who unfolds it. */
export function createFolds({ style, line, more }: FoldsOptions) {
  /** The text that was folded last is at the end. */
  const hidden: (readonly string[])[] = [];
  const hide = (lines: readonly string[]): void => {
    hidden.push(lines);
    if (hidden.length > MOST_HIDDEN) hidden.shift();
  };
  return {
    /** Keeps lines for `unfold`. */
    hide,
    /** Prints lines; of too many, the first and the last ones. */
    fold(lines: readonly string[], most: number): void {
      const note = (rest: number) => style.dim(`… ${rest} more lines, ${more} shows them`);
      const shown = more === null ? lines : folded(lines, most, note);
      if (shown.length < lines.length) hide(lines);
      for (const one of shown) line(one);
    },
    /** Prints the end of a failed command's output. */
    tail(output: string): void {
      const text = plain(output).trimEnd();
      const lines = text === "" ? [] : text.split("\n");
      if (lines.length > FAILED_LINES) hide(lines.map((one) => `  ${one}`));
      for (const one of more === null ? lines : lines.slice(-FAILED_LINES)) line(style.dim(`  ${one}`));
    },
    /** Prints the text that was folded last; the next time, the text folded before it. */
    unfold(): void {
      for (const one of hidden.pop() ?? []) line(one);
    },
  };
}

/** The thought that is arriving. */
export function createThought(style: Style, width: () => number | undefined) {
  let text = "";
  const lines = (part: string) =>
    wrap(part, width())
      .split("\n")
      .map((one) => style.dim(style.italic(one)));
  return {
    get isEmpty() {
      return text === "";
    },
    write(more: string): void {
      text += more;
    },
    /** Its last lines so far. */
    tail: (most: number): string[] => lines(plain(endOf(text, 1000)).trim()).slice(-most),
    /** Returns all of its lines, and begins anew. */
    end(): string[] {
      const whole = plain(text).trim();
      text = "";
      return whole === "" ? [] : lines(whole.replace(/\n{2,}/g, "\n"));
    },
  };
}

/** The lines of a slash command's answer. A record may end in the middle of one. */
export function createListing(width: () => number | undefined) {
  let rest = "";
  return {
    /** Returns the lines that are complete. */
    write(text: string): string {
      const all = rest + text;
      const end = all.lastIndexOf("\n") + 1;
      rest = all.slice(end);
      return end === 0 ? "" : plainLines(all.slice(0, end), width());
    },
    /** Returns the last line, if no newline ended it. */
    end(): string {
      const last = rest;
      rest = "";
      return last === "" ? "" : plainLines(last, width());
    },
  };
}

/** The agent's plan. */
export function createPlan(style: Style, width: () => number | undefined) {
  let plan: readonly PlanEntry[] = [];
  const marks: Readonly<Record<PlanEntry["status"], string>> = {
    completed: style.green("✓"),
    in_progress: style.cyan("▸"),
    pending: style.dim("·"),
  };
  return {
    /** Takes the whole plan. Returns lines for what is new: all of another plan, or the entries with another status. */
    changed(entries: readonly PlanEntry[]): string[] {
      const isNew = entries.length !== plan.length || entries.some(({ content }, at) => content !== plan[at]?.content);
      const shown = isNew ? entries : entries.filter(({ status }, at) => status !== plan[at]?.status);
      plan = entries;
      return shown.map(({ status, content }) => wrap(plainLine(content), width(), `  ${marks[status]} `));
    },
  };
}

/** The end of each job's output. */
export function createJobOutputs() {
  const outputs = new Map<string, string>();
  return {
    add: (id: string, chunk: string): void =>
      void outputs.set(id, endOf((outputs.get(id) ?? "") + chunk, TAIL_CHARACTERS)),
    /** Returns the end of a job's output, and forgets it. */
    end(id: string): string {
      const output = outputs.get(id) ?? "";
      outputs.delete(id);
      return output;
    },
    /** A line for each running job, with the last line of its output. */
    lines: (running: Iterable<Metadata<"job_started">>): string[] =>
      [...running].map(({ job_id, command }) => {
        const last = plainLine(
          plain(outputs.get(job_id) ?? "")
            .trimEnd()
            .split("\n")
            .at(-1) ?? "",
        );
        return `  ${job_id} runs: ${startOf(plainLine(command), LONGEST_COMMAND)}${last === "" ? "" : ` · ${last}`}`;
      }),
  };
}

/** How long a turn waited for answers of a person. The clocks of the turn and of the call stop meanwhile. */
export function createWaits() {
  const asked = new Map<string, { readonly callId: string; readonly at: number }>();
  let totalMs = 0;
  return {
    /** How long the turn has waited so far. */
    get totalMs() {
      return totalMs;
    },
    begin: (id: string, callId: string, ts: string): void => void asked.set(id, { callId, at: Date.parse(ts) }),
    /** Ends a wait. Returns its call and how long it took; null for an unknown question. */
    end(id: string, ts: string): { readonly callId: string; readonly ms: number } | null {
      const question = asked.get(id);
      if (!question) return null;
      asked.delete(id);
      const ms = Math.max(0, Date.parse(ts) - question.at);
      // Of several questions at once, only the last answer ends the wait.
      if (asked.size === 0) totalMs += ms;
      return { callId: question.callId, ms };
    },
    reset() {
      asked.clear();
      totalMs = 0;
    },
  };
}

// --- internal ---

/** Most lines of a failed command's output to print. */
const FAILED_LINES = 10;
/** Most folded texts to keep. */
const MOST_HIDDEN = 10;
const LONGEST_COMMAND = 40;
