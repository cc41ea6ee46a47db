/** A task: work that another agent does under a call. It is shown folded: what it does now, and at its end how much it did. */
import type { SessionRecord } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import type { Style } from "../terminal/style.js";

/** Lines of a task that are kept for a person who unfolds it; of a longer one, the last. */
const MOST_LINES = 2000;
/** Characters of a task's name beside what it does: a line of the screen has room for both. */
const LONGEST_NAME = 32;

/** What shows the records of a task. */
export interface Inside {
  apply(record: SessionRecord): void;
  /** What is going on, in a few words. */
  label(now: number): string;
  /** Prints what is still arriving, where nothing more comes. */
  end(): void;
  /** How many calls have ended since the turn began. */
  readonly ended: number;
}

export type Task = ReturnType<typeof createTask>;

/** @param createInside a view that prints to the given function. */
export function createTask(style: Style, createInside: (print: (text: string) => void) => Inside) {
  const margin = style.dim("│ ");
  let lines: string[] = [];
  let hidden = 0;
  const view = createInside((text) => {
    lines.push(...text.replace(/\n$/, "").split("\n"));
    hidden += Math.max(0, lines.length - MOST_LINES);
    lines = lines.slice(-MOST_LINES);
  });
  return {
    view,
    /** What happened inside of it, ready to be shown. */
    lines() {
      view.end();
      const before = hidden > 0 ? [style.dim(`… ${hidden} earlier lines`)] : [];
      return [...before, ...lines].map((line) => margin + line);
    },
  };
}

/** Columns that a task has beside its margin. */
export function insideWidth(columns: number | undefined): number | undefined {
  return columns === undefined ? undefined : columns - 2;
}

/** What the tasks under way do now, a line each; a task that is alone is named by the status already. */
export function tasksNow(
  calls: Iterable<{ readonly title: string; readonly task: Task | null }>,
  now: number,
): string[] {
  const tasks = [...calls].flatMap(({ title, task }) => (task ? [{ title, task }] : []));
  return tasks.map(({ title, task }) => {
    const doing = task.view.label(now) || "working";
    const named = title.length > LONGEST_NAME ? `${startOf(title, LONGEST_NAME)}…` : title;
    return tasks.length === 1 ? `  ${doing}` : `  ${named} · ${doing}`;
  });
}
