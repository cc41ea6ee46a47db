/** Somebody who calls under a name, and what their role lets them do with a session. */
import type { Summary } from "@chimera/acp-schema/summary";

export const ROLES = ["viewer", "user", "admin"] as const;

/** Somebody who calls under a name. viewer: reads every session. user: has sessions, and reads those that are shared. admin: may do all. */
export interface Person {
  readonly name: string;
  readonly role: (typeof ROLES)[number];
}

/** What others see of a session: who made it, and whether they may read it. */
export type Seen = Pick<Summary, "owner" | "shared">;

/** What somebody may do with a session; null: it does not exist for them. */
export function accessOf({ name, role }: Person, { owner, shared }: Seen): "write" | "read" | null {
  if (role === "admin" || (role === "user" && owner === name)) return "write";
  return role === "viewer" || shared ? "read" : null;
}
