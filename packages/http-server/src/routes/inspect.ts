/** Shows the files of a session, the changes of each turn and the attached clients, and searches all sessions. */

import { constants, type Dirent } from "node:fs";
import { lstat, open, opendir, realpath } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import type { ChangesReply, ClientsReply, FilesReply, SearchReply } from "@chimera/acp-schema/http";
import { orElse } from "@chimera/acp-schema/lenient";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { readQuery } from "../request/query.js";
import { withReports } from "../with-reports.js";
import { type Handlers, pathPart, type RouteDeps } from "./route.js";

export function inspectRoutes({ deps, openSession, streams, clock }: RouteDeps) {
  const { sessions } = deps;
  return {
    "GET /sessions/{id}/files": async (c) => {
      const { path = "." } = readQuery(c, "GET /sessions/{id}/files");
      const { cwd } = await openSession.read(pathPart(c, "id"));
      return c.json(await lookAt(cwd, path));
    },
    "GET /sessions/{id}/changes": async (c) => {
      const { turn: asked, diff } = readQuery(c, "GET /sessions/{id}/changes");
      const { id, snapshots } = await openSession.read(pathPart(c, "id"));
      const list = (await snapshots?.list()) ?? [];
      const taken = list.filter(({ turn }) => asked === undefined || turn === Number(asked));
      const turns = taken.map(async ({ turn, snapId, timestamp, files }) => {
        const shown = diff === "true" ? ((await snapshots?.edits(snapId)) ?? []) : files;
        const changed = new Date(timestamp * 1000).toISOString();
        return { turn, snap_id: snapId, changed, files: shown.map((file) => ({ ...file })) };
      });
      return c.json({ session_id: id, turns: await Promise.all(turns) } satisfies ChangesReply);
    },
    "GET /sessions/{id}/clients": async (c) => {
      const id = pathPart(c, "id");
      await openSession.requireLog(id);
      const all = [...sessions.clients(id), ...streams.clients(id)];
      const clients = all.map(({ since, ...client }) => ({ ...client, since: new Date(since).toISOString() }));
      return c.json({ clients } satisfies ClientsReply);
    },
    "GET /search": async (c) => {
      const { q, limit, since } = readQuery(c, "GET /search");
      return withReports(async ({ parseLimit, parseSince, searchSessions }) => {
        const from = parseSince(since, clock());
        const newest = { limit: LIMITS.searchedSessions, ...(from !== null && { since: from }) };
        const { sessions: rows } = await sessions.list(newest);
        const most = parseLimit(limit) ?? LIMITS.searchHits;
        const reply: SearchReply = { hits: [], searched: 0 };
        for await (const hit of searchSessions(sessions.logs, rows, q)) {
          if (c.req.raw.signal.aborted) break;
          reply.searched++;
          if (hit && reply.hits.push(hit) >= most) break;
        }
        return c.json(reply);
      });
    },
  } satisfies Handlers;
}

// --- internal ---

/**
 * Reads a file or a directory below a session's directory, up to a limit. Throws `invalid_path` if the path leads out of that directory,
 * also through a link, or if it is neither a file nor a directory; `file_not_found`.
 *
 * @param path relative to `cwd`
 */
async function lookAt(cwd: string, path: string): Promise<FilesReply> {
  if (path.includes("\0")) throw outside();
  const root = await realpath(cwd).catch(missing);
  const asked = resolve(root, path);
  requireBelow(root, asked);
  const found = await realpath(asked).catch(missing);
  requireBelow(root, found);
  const shown = relative(root, asked).split(sep).join("/") || ".";
  const stats = await lstat(found).catch(missing);
  if (stats.isDirectory()) return { type: "directory", path: shown, ...(await namesIn(found)) };
  if (!stats.isFile()) throw new HttpError(400, "invalid_path", "this is neither a file nor a directory");
  return { type: "file", path: shown, ...(await beginningOf(root, found)) };
}

type Shown<T extends FilesReply["type"]> = Omit<Extract<FilesReply, { type: T }>, "type" | "path">;

async function namesIn(directory: string): Promise<Shown<"directory">> {
  const found: Dirent[] = [];
  let truncated = false;
  for await (const entry of await opendir(directory).catch(missing)) {
    truncated = found.length >= LIMITS.directoryEntries;
    if (truncated) break;
    found.push(entry);
  }
  const entries = found.map(async (entry) => {
    const stats = await lstat(join(directory, entry.name)).catch(() => null);
    const type = typeOf(entry);
    const size = type === "file" ? (stats?.size ?? null) : null;
    return { name: entry.name, type, size, modified: stats?.mtime.toISOString() ?? null };
  });
  const named = await Promise.all(entries);
  return { entries: named.sort((a, b) => (a.name < b.name ? -1 : 1)), truncated };
}

async function beginningOf(root: string, path: string): Promise<Shown<"file">> {
  // The file may have been replaced by a link or a pipe: do not follow it, and do not wait for it.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(missing);
  try {
    if (process.platform === "linux") requireBelow(root, await realpath(`/proc/self/fd/${file.fd}`).catch(missing));
    const { size, mtime } = await file.stat();
    const bytes = Buffer.alloc(Math.min(size, LIMITS.fileBytes));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    const read = bytes.subarray(0, bytesRead);
    const text = textIn(read, size > read.length);
    return {
      size,
      modified: mtime.toISOString(),
      encoding: text === null ? "base64" : "utf-8",
      content: text ?? read.toString("base64"),
      truncated: size > read.length,
    };
  } finally {
    await file.close();
  }
}

/** The bytes as text. Null if they are not text. A character that is cut at the end is left out. */
function textIn(bytes: Buffer, isCut: boolean): string | null {
  if (bytes.includes(0)) return null;
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return orElse(() => decoder.decode(bytes, { stream: isCut }), null);
}

function typeOf(entry: Dirent): "file" | "directory" | "link" | "other" {
  if (entry.isSymbolicLink()) return "link";
  return entry.isFile() ? "file" : entry.isDirectory() ? "directory" : "other";
}

function requireBelow(root: string, path: string): void {
  if (path !== root && !path.startsWith(root.endsWith(sep) ? root : root + sep)) throw outside();
}

function outside(): HttpError {
  return new HttpError(400, "invalid_path", "the path is not below the session's directory");
}

function missing(cause: unknown): never {
  throw new HttpError(404, "file_not_found", "the file does not exist, or cannot be read", { cause });
}
