/** Tells callers who they are, and signs the page in: it exchanges a code that works once for a token of its own. */
import * as v from "valibot";
import { text } from "../define/scalar.js";
import { plain } from "../define/shape.js";

const seconds = v.pipe(v.number(), v.integer());

const amounts = () => ({
  /** Sessions in memory. */
  sessions: v.nullable(v.number()),
  /** Turns that run or wait. */
  turns: v.nullable(v.number()),
  /** Prompts within a minute. */
  prompts_per_minute: v.nullable(v.number()),
  /** Dollars since midnight, UTC. */
  usd_per_day: v.nullable(v.number()),
  /** Long answers: event streams, WebSockets and synchronous runs. */
  streams: v.nullable(v.number()),
  /** The disk space of their sessions. It is counted only if it is limited. */
  disk_bytes: v.nullable(v.number()),
});

/** `GET /me`. */
export const MeReply = plain(() => ({
  /** The name of the person; null for the master token. */
  name: v.nullable(text),
  /** What the caller may do: read every session, have sessions of their own, or all. */
  role: v.picklist(["viewer", "user", "admin"]),
  /** The kind of credential: the master token or none, a person's token, or a page that signed in. */
  by: v.picklist(["master", "user", "page"]),
  /** The most they may use; null for no limit. */
  limits: plain(amounts),
  /** What they use now, in the same units; null where nothing is counted. */
  used: plain(amounts),
}));
export type MeReply = v.InferOutput<typeof MeReply>;

/**
 * `POST /page/codes`.
 *
 * @property code The code, which works once.
 * @property expires_seconds Seconds until the code no longer works.
 */
export const PageCodeReply = plain(() => ({ code: text, expires_seconds: seconds }));
export type PageCodeReply = v.InferOutput<typeof PageCodeReply>;

/**
 * `POST /page/tokens`.
 *
 * @property code The code of `POST /page/codes`, or the one in the page's address.
 */
export const PageTokenBody = plain(() => ({ code: text }));
/** 201. */
export const PageTokenReply = plain(() => ({
  /** The id of the token, by which it is listed and ended. */
  id: text,
  /** The token of the page. No later answer has it. */
  token: text,
  /** Seconds without a request after which the token ends. */
  idle_seconds: seconds,
}));
export type PageTokenReply = v.InferOutput<typeof PageTokenReply>;

/** `GET /page/tokens`: the pages that are signed in. The server does not keep the tokens themselves. */
export const PageTokensReply = plain(() => ({
  /** The pages that the caller may end. */
  tokens: v.array(
    plain(() => ({
      /** The id of the page's token. */
      id: text,
      /** The person whose page it is; null for the master's page. */
      person: v.nullable(text),
      /** The name that the browser gives itself. */
      name: v.nullable(text),
      /** The time when the page signed in. */
      created: text,
      /** The time of the page's last request. */
      used: text,
    })),
  ),
}));
export type PageTokensReply = v.InferOutput<typeof PageTokensReply>;
