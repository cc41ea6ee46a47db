/** What a client looks at in a session besides its records: files of its workspace, changes per turn, who is attached, and search. */
import * as v from "valibot";
import { count, text } from "../define/scalar.js";
import { plain, variant } from "../define/shape.js";

const moment = v.string();

/** The query of `GET /sessions/{id}/files`: a path below the session's directory, which is the default. */
export const FilesQuery = plain(() => ({ path: v.optional(text) }));

/** A directory's names, or the beginning of a file. */
export const FilesReply = variant("type", () => ({
  directory: plain(() => ({
    path: text,
    entries: v.array(
      plain(() => ({
        name: text,
        type: v.picklist(["file", "directory", "link", "other"]),
        size: v.nullable(count),
        modified: v.nullable(moment),
      })),
    ),
    /** Names are missing at the end. */
    truncated: v.boolean(),
  })),
  file: plain(() => ({
    path: text,
    size: count,
    modified: moment,
    encoding: v.picklist(["utf-8", "base64"]),
    content: text,
    /** Bytes are missing at the end. */
    truncated: v.boolean(),
  })),
}));
export type FilesReply = v.InferOutput<typeof FilesReply>;

/** The query of `GET /sessions/{id}/changes`: one turn alone, with its diffs. */
export const ChangesQuery = plain(() => ({
  turn: v.optional(v.pipe(text, v.regex(/^\d+$/, "not a turn's number"))),
  diff: v.optional(v.picklist(["true", "false"])),
}));

/** What each turn changed, oldest first, but for turns that are undone. `diff` is there where the query asked for it. */
export const ChangesReply = plain(() => ({
  session_id: text,
  turns: v.array(
    plain(() => ({
      turn: count,
      snap_id: text,
      changed: moment,
      files: v.array(
        plain(() => ({ path: text, change: v.picklist(["add", "update", "delete"]), diff: v.optional(text) })),
      ),
    })),
  ),
}));
export type ChangesReply = v.InferOutput<typeof ChangesReply>;

/** `GET /sessions/{id}/clients`: who is attached now. */
export const ClientsReply = plain(() => ({
  clients: v.array(
    plain(() => ({
      /** How it is connected: `acp`, `stream`, `terminal`, `bridge`. */
      transport: text,
      /** What it calls itself. */
      name: v.nullable(text),
      /** Whether it is asked for permissions. */
      approves: v.boolean(),
      since: moment,
    })),
  ),
}));
export type ClientsReply = v.InferOutput<typeof ClientsReply>;

/** The query of `GET /search`. */
export const SearchQuery = plain(() => ({
  q: v.pipe(text, v.minLength(1)),
  limit: v.optional(v.pipe(text, v.regex(/^\d+$/, "not an integer"))),
  since: v.optional(text),
}));

/** The first place in each session that holds the text, sessions newest first. */
export const SearchReply = plain(() => ({
  hits: v.array(
    plain(() => ({
      session_id: text,
      title: text,
      turn: v.nullable(count),
      type: text,
      excerpt: text,
    })),
  ),
  /** Sessions that were looked at. */
  searched: count,
}));
export type SearchReply = v.InferOutput<typeof SearchReply>;
