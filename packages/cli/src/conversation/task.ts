/** Shows a task, the work of another agent below a call. It is folded: a line shows the present work, and at the end the amount of it. */
import type { SessionRecord } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import type { Style } from "../terminal/style.js";

/** Most lines of a task that are kept for unfolding. Of a longer task the last ones are kept. */
const MOST_LINES = 2000;
/** Most characters of a task's name, so that a line has room for its present work too. */
const LONGEST_NAME = 32;

/** The view of a task's records. */
export interface Inside {
  apply(record: SessionRecord): void;
  /** The present work, in a few words. */
  label(now: number): string;
  /** Prints the rest of the text, because nothing more comes. */
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
    /** The lines of the task, ready to print. */
    lines() {
      view.end();
      const before = hidden > 0 ? [style.dim(`… ${hidden} earlier lines`)] : [];
      return [...before, ...lines].map((line) => margin + line);
    },
  };
}

/** Columns that are left beside the margin of a task. */
export function insideWidth(columns: number | undefined): number | undefined {
  return columns === undefined ? undefined : columns - 2;
}

/** A line for the present work of each running task. The line of a single task omits its name, which the status line has. */
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
