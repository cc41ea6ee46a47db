/** Logging in and out. */
import * as v from "valibot";
import { list, maybe, nullAs, object, record, tagged } from "../define/shape.js";
import { AuthMethodId } from "./id.js";

export const AuthMethodAgent = object(() => ({
  id: AuthMethodId,
  name: v.string(),
  description: maybe(v.string()),
}));
export type AuthMethodAgent = v.InferOutput<typeof AuthMethodAgent>;

/** The agent's own command, run in a terminal with these arguments; only for clients that say `auth.terminal`. */
export const AuthMethodTerminal = object(() => ({
  id: AuthMethodId,
  name: v.string(),
  description: maybe(v.string()),
  args: v.optional(list(v.string())),
  env: v.optional(nullAs(record(v.string()), () => ({}))),
}));
export type AuthMethodTerminal = v.InferOutput<typeof AuthMethodTerminal>;

export const AuthMethod = v.union([tagged("type", "terminal", AuthMethodTerminal), AuthMethodAgent]);
export type AuthMethod = v.InferOutput<typeof AuthMethod>;

export const AuthenticateRequest = object(() => ({ methodId: AuthMethodId }));
export const AuthenticateResponse = object(() => ({}));
export const LogoutRequest = object(() => ({}));
export const LogoutResponse = object(() => ({}));
