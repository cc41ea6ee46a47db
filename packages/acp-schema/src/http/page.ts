/** Who calls, and how the page signs in: it exchanges a code that works once for a token of its own. */
import * as v from "valibot";
import { text } from "../define/scalar.js";
import { plain } from "../define/shape.js";

const seconds = v.pipe(v.number(), v.integer());

const amounts = () => ({
  /** In memory. */
  sessions: v.nullable(v.number()),
  /** That run or wait. */
  turns: v.nullable(v.number()),
  prompts_per_minute: v.nullable(v.number()),
  /** Since midnight, UTC. */
  usd_per_day: v.nullable(v.number()),
  /** Answers that last: event streams, WebSockets, runs that are waited for. */
  streams: v.nullable(v.number()),
  /** What their sessions take on disk; counted where there is a limit on it. */
  disk_bytes: v.nullable(v.number()),
});

/** `GET /me`. */
export const MeReply = plain(() => ({
  /** Null for the master. */
  name: v.nullable(text),
  role: v.picklist(["viewer", "user", "admin"]),
  /** What was called with: the master token or none, a token of a person, a page that signed in. */
  by: v.picklist(["master", "user", "page"]),
  /** What they may use at most; null where there is no limit. */
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
  /** A token that carries no request for so long ends. */
  idle_seconds: seconds,
}));
export type PageTokenReply = v.InferOutput<typeof PageTokenReply>;

/** `GET /page/tokens`: the pages that are signed in. The tokens themselves are kept nowhere. */
export const PageTokensReply = plain(() => ({
  tokens: v.array(
    plain(() => ({
      id: text,
      /** Whose page it is; null for the master's. */
      person: v.nullable(text),
      /** What the browser calls itself. */
      name: v.nullable(text),
      created: text,
      used: text,
    })),
  ),
}));
export type PageTokensReply = v.InferOutput<typeof PageTokensReply>;
