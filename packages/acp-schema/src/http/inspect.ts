/** Queries and answers of the routes that look at a session: its files, changes and clients; and of the search. */
import * as v from "valibot";
import { count, moment, text } from "../define/scalar.js";
import { plain, variant } from "../define/shape.js";
import { FileChange } from "../events/value.js";

/**
 * The query of `GET /sessions/{id}/files`.
 *
 * @property path A path below the session's directory; by default the directory itself.
 */
export const FilesQuery = plain(() => ({ path: v.optional(text) }));

/** The entries of a directory, or the beginning of a file. */
export const FilesReply = variant("type", () => ({
  /** The path is a directory. */
  directory: plain(() => ({
    /** The path, relative to the session's directory; `.` for that directory itself. */
    path: text,
    /** What is in the directory, in the order of the names. */
    entries: v.array(
      plain(() => ({
        /** The name of the entry in its directory. */
        name: text,
        /** What the entry is; a link is not followed. */
        type: v.picklist(["file", "directory", "link", "other"]),
        /** Bytes of a file; null for any other entry. */
        size: v.nullable(count),
        /** The time of the last change; null if it cannot be read. */
        modified: v.nullable(moment),
      })),
    ),
    /** Whether entries are missing at the end. */
    truncated: v.boolean(),
  })),
  /** The path is a file. */
  file: plain(() => ({
    /** The path, relative to the session's directory. */
    path: text,
    /** Bytes of the whole file. */
    size: count,
    /** The time of the last change. */
    modified: moment,
    /** The form of `content`: `base64` for bytes that are not text. */
    encoding: v.picklist(["utf-8", "base64"]),
    /** The beginning of the file, at most 1 MiB. */
    content: text,
    /** Whether bytes are missing at the end. */
    truncated: v.boolean(),
  })),
}));
export type FilesReply = v.InferOutput<typeof FilesReply>;

/** The query of `GET /sessions/{id}/changes`. */
export const ChangesQuery = plain(() => ({
  /** The number of a turn, counted from 0, whose changes alone are wanted; by default those of every turn. */
  turn: v.optional(v.pipe(text, v.regex(/^\d+$/, "not a turn's number"))),
  /** Whether to include the diff of each file; by default not. */
  diff: v.optional(v.picklist(["true", "false"])),
}));

/** The changes of each turn. */
export const ChangesReply = plain(() => ({
  /** The id of the session. */
  session_id: text,
  /** The turns that changed files, oldest first, without undone turns. */
  turns: v.array(
    plain(() => ({
      /** The number of the turn, counted from 0. */
      turn: count,
      /** The id of the turn's snapshot. */
      snap_id: text,
      /** The time of the snapshot. */
      changed: moment,
      /**
       * The files that the turn changed.
       *
       * @property path The path, relative to the session's directory.
       * @property change What the turn did to the file.
       * @property diff The unified diff; present if the query asked for it.
       */
      files: v.array(plain(() => ({ path: text, change: FileChange, diff: v.optional(text) }))),
    })),
  ),
}));
export type ChangesReply = v.InferOutput<typeof ChangesReply>;

/** `GET /sessions/{id}/clients`: the clients that are attached now. */
export const ClientsReply = plain(() => ({
  /** The attached clients, of every transport. */
  clients: v.array(
    plain(() => ({
      /** The kind of connection: `acp`, `stream`, `terminal` or `bridge`. */
      transport: text,
      /** The name that the client gives itself. */
      name: v.nullable(text),
      /** Whether the client is asked for permissions. */
      approves: v.boolean(),
      /** The time when the client attached. */
      since: moment,
    })),
  ),
}));
export type ClientsReply = v.InferOutput<typeof ClientsReply>;

/** The query of `GET /search`. */
export const SearchQuery = plain(() => ({
  /** The text to look for in the conversations. */
  q: v.pipe(text, v.minLength(1)),
  /** The most hits; 20 by default, and for 0. */
  limit: v.optional(v.pipe(text, v.regex(/^\d+$/, "not an integer"))),
  /** Only sessions from this time on: a span such as `7d`, `24h` or `30m`, or a time in ISO 8601; by default of any time. */
  since: v.optional(text),
}));

/** The first match in each session, newest session first. */
export const SearchReply = plain(() => ({
  /** The sessions that contain the text, each with its first match. */
  hits: v.array(
    plain(() => ({
      /** The id of the session. */
      session_id: text,
      /** The title of the session, or what stands for it. */
      title: text,
      /** The number of the turn with the match, counted from 0; null outside a turn. */
      turn: v.nullable(count),
      /** The type of the record with the match. */
      type: text,
      /** The text around the match. */
      excerpt: text,
    })),
  ),
  /** How many sessions were searched. */
  searched: count,
}));
export type SearchReply = v.InferOutput<typeof SearchReply>;
