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
  role: v.picklist(["viewer", "user", "admin"]),
  /** The kind of credential: the master token or none, a person's token, or a page that signed in. */
  by: v.picklist(["master", "user", "page"]),
  /** The most they may use; null for no limit. */
  limits: plain(amounts),
  used: plain(amounts),
}));
export type MeReply = v.InferOutput<typeof MeReply>;

/** `POST /page/codes`. */
export const PageCodeReply = plain(() => ({ code: text, expires_seconds: seconds }));
export type PageCodeReply = v.InferOutput<typeof PageCodeReply>;

/** `POST /page/tokens`. */
export const PageTokenBody = plain(() => ({ code: text }));
export const PageTokenReply = plain(() => ({
  id: text,
  token: text,
  /** The token ends after this long without a request. */
  idle_seconds: seconds,
}));
export type PageTokenReply = v.InferOutput<typeof PageTokenReply>;

/** `GET /page/tokens`: the pages that are signed in. The server does not keep the tokens themselves. */
export const PageTokensReply = plain(() => ({
  tokens: v.array(
    plain(() => ({
      id: text,
      /** The person whose page it is; null for the master's page. */
      person: v.nullable(text),
      /** The name that the browser gives itself. */
      name: v.nullable(text),
      created: text,
      used: text,
    })),
  ),
}));
export type PageTokensReply = v.InferOutput<typeof PageTokensReply>;
