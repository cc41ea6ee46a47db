// The lists of stored sessions, as each transport gives them: rows by session id, without what a copy or a later use changes.
import { once } from "node:events";
import { startEditor } from "../editor.js";
import { connect } from "../peer.js";
import { type AtEnd, startProgram } from "../program.js";
import { startServer } from "../server.js";
import { HOME, WORK } from "./place.js";
import type { ProgramName } from "./shown.js";

// biome-ignore lint/suspicious/noExplicitAny: a row is whatever arrived; what is expected of it is frozen.
type Row = Record<string, any>;
export type Lists = Record<"command" | "http" | "acp" | "native", Record<string, Row>>;

const SUMMED_UP = ["started_at", "model", "prompt", "title", "success", "cost_usd", "steps", "tool_calls"];

/** The fields of a row that stay as they are, by transport. */
const KEPT: Record<keyof Lists, readonly string[]> = {
  command: ["cli_origin", ...SUMMED_UP],
  http: ["working_dir", ...SUMMED_UP],
  acp: ["cwd", "title"],
  native: ["cwd", "title", "model"],
};

export async function listsOf(name: ProgramName, atEnd: AtEnd): Promise<Lists> {
  const place = { home: HOME, cwd: `${WORK}/start`, atEnd };
  const server = await startServer([], {}, { ...place, name });
  const { body } = await server.ask("GET /sessions?limit=0");
  const editor = await startEditor({ ...place, name });
  const native = connect(startProgram(name, ["serve", "--acp"], {}, place));
  await native.request("initialize", {});
  const lists = {
    command: await typedList(name, place),
    http: body.sessions,
    acp: (await editor.request("session/list", {})).result.sessions,
    native: (await native.request("session/list", {})).result.sessions,
  };
  return Object.fromEntries(
    Object.entries(lists).map(([transport, rows]) => [transport, kept(rows, KEPT[transport as keyof Lists])]),
  ) as Lists;
}

// --- internal ---

async function typedList(name: ProgramName, place: { home: string; cwd: string; atEnd: AtEnd }): Promise<Row[]> {
  const { child } = startProgram(name, ["sessions", "list", "--json", "--limit", "0"], {}, place);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  await once(child, "close");
  return JSON.parse(text);
}

function kept(rows: Row[], fields: readonly string[]): Record<string, Row> {
  return Object.fromEntries(
    rows.map((row) => [
      row["session_id"] ?? row["sessionId"],
      Object.fromEntries(fields.map((key) => [key, row[key]])),
    ]),
  );
}
