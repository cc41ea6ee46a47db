/** A session of a running server. */
import type { PromptBlock } from "@chimera/acp-schema/events";
import { createSlashPalette } from "@chimera/session";
import { CliError, isCliError } from "../errors.js";
import type { PaletteRow, SessionClient } from "./client.js";
import { followSession } from "./follow.js";
import type { Server } from "./server.js";

/** Opens the session on the server, so that it is live and can be talked to. */
export async function remoteClient(server: Server, id: string): Promise<SessionClient> {
  const snapshot = await server.request("GET", `/session/${encodeURIComponent(id)}`);
  const { working_dir, event_count } = snapshot ?? {};
  if (typeof event_count !== "number") throw new CliError("failed", `${server.url} is no server of this kind`);
  const post = (path: string, body: object = {}) =>
    server.request("POST", `/sessions/${encodeURIComponent(id)}/${path}`, body);
  return {
    id,
    cwd: typeof working_dir === "string" ? working_dir : null,
    model: null,
    server: server.url,
    persistent: true,
    head: event_count,
    follow: (options) => followSession(server, id, options),
    async prompt({ text, content }) {
      const prompt = content === undefined ? text : textOf(content);
      const turn = /^msg-(\d+)$/.exec(String((await post("turns", { prompt }))?.["message_id"]))?.[1];
      if (turn === undefined)
        throw new CliError("failed", `${server.url} took the prompt without saying as which turn`);
      return Number(turn);
    },
    async cancel() {
      await post("cancel");
    },
    async answer(permissionId, decision, shown) {
      try {
        await post(`permissions/${encodeURIComponent(permissionId)}`, {
          decision,
          ...(shown !== undefined && { shown }),
        });
        return true;
      } catch (error) {
        if (isCliError(error) && error.code === "conflict") return false;
        throw error;
      }
    },
    commands: async () => [...createSlashPalette({ home: "" }).commands.map(rowOf), ...(await customCommands(server))],
    async forgetFiles() {},
    async close() {},
  };
}

/** The session somebody worked on last, or a new one. */
export async function newestOrNew(server: Server): Promise<string> {
  const reply = await server.request("GET", "/sessions?state=live");
  const rows = Array.isArray(reply?.["sessions"]) ? (reply["sessions"] as { session_id?: unknown }[]) : [];
  const newest = rows[0]?.session_id;
  return typeof newest === "string" ? newest : createSession(server);
}

export async function createSession(server: Server): Promise<string> {
  const reply = await server.request("POST", "/session", {});
  const id = reply?.["session_id"];
  if (typeof id === "string") return id;
  throw new CliError("failed", `${server.url} made no session`);
}

// --- internal ---

/** What goes over HTTP is text. */
function textOf(content: readonly PromptBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
}

function rowOf({ name, description }: PaletteRow): PaletteRow {
  return { name, description };
}

/** For completion only: a session's own token may not list them, and that is no error. */
async function customCommands(server: Server): Promise<PaletteRow[]> {
  const reply = await server.request("GET", "/commands").catch(() => null);
  const rows = Array.isArray(reply?.["commands"]) ? (reply["commands"] as Partial<PaletteRow>[]) : [];
  return rows.map(({ name, description }) => ({ name: String(name), description: String(description ?? "") }));
}
