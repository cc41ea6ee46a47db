/** Reads of a session besides its records: files of its workspace, changes of each turn, attached clients, and search. */
import * as v from "valibot";
import { count, moment, text } from "../define/scalar.js";
import { plain, variant } from "../define/shape.js";
import { FileChange } from "../events/value.js";

/** The query of `GET /sessions/{id}/files`: a path in the session's directory, by default the directory itself. */
export const FilesQuery = plain(() => ({ path: v.optional(text) }));

/** The entries of a directory, or the beginning of a file. */
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
    /** Whether entries are missing at the end. */
    truncated: v.boolean(),
  })),
  file: plain(() => ({
    path: text,
    size: count,
    modified: moment,
    encoding: v.picklist(["utf-8", "base64"]),
    content: text,
    /** Whether bytes are missing at the end. */
    truncated: v.boolean(),
  })),
}));
export type FilesReply = v.InferOutput<typeof FilesReply>;

/** The query of `GET /sessions/{id}/changes`: only one turn, and whether to include diffs. */
export const ChangesQuery = plain(() => ({
  turn: v.optional(v.pipe(text, v.regex(/^\d+$/, "not a turn's number"))),
  diff: v.optional(v.picklist(["true", "false"])),
}));

/** The changes of each turn, oldest first, without undone turns. `diff` is present if the query asked for it. */
export const ChangesReply = plain(() => ({
  session_id: text,
  turns: v.array(
    plain(() => ({
      turn: count,
      snap_id: text,
      changed: moment,
      files: v.array(plain(() => ({ path: text, change: FileChange, diff: v.optional(text) }))),
    })),
  ),
}));
export type ChangesReply = v.InferOutput<typeof ChangesReply>;

/** `GET /sessions/{id}/clients`: the clients that are attached now. */
export const ClientsReply = plain(() => ({
  clients: v.array(
    plain(() => ({
      /** The kind of connection: `acp`, `stream`, `terminal` or `bridge`. */
      transport: text,
      /** The name that the client gives itself. */
      name: v.nullable(text),
      /** Whether the client is asked for permissions. */
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

/** The first match in each session, newest session first. */
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
  /** How many sessions were searched. */
  searched: count,
}));
export type SearchReply = v.InferOutput<typeof SearchReply>;
