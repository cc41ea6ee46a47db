/** A stored session as `sessions list` shows it. Summaries of other programs and older days may lack fields. */
import { join } from "node:path";
import { type ListedSession, sessionPrefix } from "@chimera/event-store";
import type { Summary } from "@chimera/session";
import type { Column } from "../terminal/table.js";

export interface SessionRow {
  readonly session_id: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly model: string;
  readonly prompt: string;
  readonly title: string;
  readonly success: boolean;
  readonly cost_usd: number;
  readonly steps: number;
  readonly tool_calls: number;
  readonly path: string;
  readonly error: string | null;
  readonly cli_origin: string;
}

export function sessionRow({ id, summary }: ListedSession<Summary>, eventlog: string): SessionRow {
  const fields: Partial<Summary> = summary;
  return {
    session_id: id,
    started_at: textOf(fields.started_at),
    ended_at: textOf(fields.ended_at),
    model: textOf(fields.model) ?? "",
    prompt: textOf(fields.prompt) ?? "",
    title: textOf(fields.title) ?? "",
    success: fields.success === true,
    cost_usd: numberOf(fields.cost_usd),
    steps: numberOf(fields.steps),
    tool_calls: numberOf(fields.tool_calls_total),
    path: join(eventlog, id),
    error: textOf(fields.error),
    cli_origin: sessionPrefix(id),
  };
}

const ORIGIN: Column<SessionRow> = { title: "ORIGIN", width: 7, cell: (row) => row.cli_origin };

export function sessionColumns(withOrigin: boolean): Column<SessionRow>[] {
  return [
    { title: "SESSION_ID", width: 38, cell: (row) => row.session_id },
    ...(withOrigin ? [ORIGIN] : []),
    { title: "DATE", width: 16, cell: (row) => (row.started_at ?? "").slice(0, 16).replace("T", " ") },
    { title: "MODEL", width: 18, cell: (row) => row.model },
    { title: "STEPS", width: 5, align: "right", cell: (row) => String(row.steps) },
    { title: "COST", width: 8, align: "right", cell: (row) => `$${row.cost_usd.toFixed(4)}` },
    { title: "OK", width: 3, cell: (row) => (row.success ? "yes" : "no") },
    { title: "TITLE", width: 40, cell: (row) => row.title },
    { title: "PROMPT", width: 60, cell: (row) => row.prompt },
  ];
}

// --- internal ---

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
