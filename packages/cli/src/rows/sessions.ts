/** `sessions`: what was run, and what it cost. */
import type { Command, Flags } from "@chimera/host";
import type { Action } from "../actions.js";
import { ALL_PROGRAMS_FLAG, alsoSpelled, JSON_FLAG, NO_COLOR_FLAG, SINCE_FLAG } from "../flags.js";
import { loaded } from "./loaded.js";

const TWICE: Flags = alsoSpelled(
  {
    limit: { type: "string", value: "<n>", help: "At most so many rows (list: 50; 0 for all)" },
    model: { type: "string", value: "<name>", help: "Only this model (cost: a part of its name)" },
    ...JSON_FLAG,
  },
  "sessions",
);

export function sessionsCommand(name: string): Command {
  return {
    name: "sessions",
    summary: "List, show, search, rename and clean up stored sessions",
    operands: "[list | show <id> | cost | rename <id> <title> | search <text> | gc]",
    maxOperands: Number.POSITIVE_INFINITY,
    flags: {
      ...TWICE,
      ...SINCE_FLAG,
      format: { type: "string", value: "<format>", help: "cost: text (default), json or csv" },
      full: { type: "boolean", help: "show: every event, not the first thirty" },
      ...ALL_PROGRAMS_FLAG,
      ...NO_COLOR_FLAG,
    },
    example: `${name} sessions list --since 7d`,
    load: loaded(async () => {
      const { runAction } = await import("../actions.js");
      return (invocation) => runAction(invocation, ACTIONS, "list");
    }),
  };
}

// --- internal ---

const ACTIONS: Readonly<Record<string, Action>> = {
  list: { load: async () => (await import("../sessions/list.js")).listSessions },
  show: { maxOperands: 1, load: async () => (await import("../sessions/show.js")).showSession },
  cost: { load: async () => (await import("../sessions/cost.js")).showCost },
  rename: {
    maxOperands: Number.POSITIVE_INFINITY,
    load: async () => (await import("../sessions/rename.js")).renameSession,
  },
  search: {
    maxOperands: Number.POSITIVE_INFINITY,
    load: async () => (await import("../sessions/search.js")).searchSessions,
  },
  gc: { load: async () => (await import("../sessions/gc.js")).collectGarbage },
};
