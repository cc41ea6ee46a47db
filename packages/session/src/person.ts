/** People, and what their role allows them to do with a session. */
import type { Summary } from "@chimera/acp-schema/summary";

export const ROLES = ["viewer", "user", "admin"] as const;

/** A caller with a name. viewer: reads every session. user: has sessions of their own, and reads shared ones. admin: may do everything. */
export interface Person {
  readonly name: string;
  readonly role: (typeof ROLES)[number];
}

/** The facts that decide who may see a session. */
export type Seen = Pick<Summary, "owner" | "shared">;

/** What a person may do with a session. Null: the session does not exist for them. */
export function accessOf({ name, role }: Person, { owner, shared }: Seen): "write" | "read" | null {
  if (role === "admin" || (role === "user" && owner === name)) return "write";
  return role === "viewer" || shared ? "read" : null;
}
