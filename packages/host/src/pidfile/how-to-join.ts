/** What a person may do about a session that another process has. */
import { hostname } from "node:os";
import type { Holder } from "@chimera/event-store";
import { addressOf, listPidfiles } from "./list.js";

export function howToJoin({ program, pid, host }: Pick<Holder, "program" | "pid" | "host">, run: string): string {
  const servers = program === undefined || host !== hostname() ? [] : listPidfiles({ prefix: program, directory: run });
  const found = servers.find(({ alive, socket, ...server }) => alive && server.pid === pid && socket === undefined);
  if (!found) return "go on there, or try again when it has been idle for a while: an idle session is let go";
  return `join it with ${program} acp --connect ${addressOf(found)} or over HTTP at ${addressOf(found)}`;
}
