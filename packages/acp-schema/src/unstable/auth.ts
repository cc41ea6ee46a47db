/** Who is logged in. */
import * as v from "valibot";
import { items, lenient, maybe, object, openEnum } from "../define/shape.js";

export const AuthState = openEnum(["authenticated", "unauthenticated", "not_required", "unknown"]);
export type AuthState = v.InferOutput<typeof AuthState>;

export const AuthAccount = object(() => ({
  label: v.string(),
  active: maybe(v.boolean()),
  name: maybe(v.string()),
  email: maybe(v.string()),
  organization: maybe(v.string()),
}));
export type AuthAccount = v.InferOutput<typeof AuthAccount>;

const status = () => ({ state: AuthState, accounts: lenient(items(AuthAccount), () => []) });

export const AuthStatusRequest = object(() => ({}));
export const AuthStatusResponse = object(status);
export const AuthStatusUpdateNotification = object(status);
