/** `sessions`, `store`, `undo` and `redo`: stored sessions, their cost, copying a store, and undoing turns. */
import type { Command, Flags } from "@chimera/host";
import { type Action, actionsOf, loaded } from "../actions.js";
import { ALL_PROGRAMS_FLAG, alsoSpelled, JSON_FLAG, NO_COLOR_FLAG, SINCE_FLAG, STORE_FLAG } from "../flags.js";

const TWICE: Flags = alsoSpelled(
  {
    limit: { type: "string", value: "<n>", help: "Most rows (list: 50; 0 for all)" },
    model: { type: "string", value: "<name>", help: "Only this model (cost: a part of its name)" },
    ...JSON_FLAG,
  },
  "sessions",
);

export function sessionsCommand(name: string): Command {
  return {
    name: "sessions",
    summary: "List, show, search, rename, delete and clean up stored sessions; the end of an id is enough",
    operands: "[list | show <id> | cost | rename <id> <title> | delete <id>... | search <text> | gc]",
    flags: {
      ...TWICE,
      ...SINCE_FLAG,
      format: { type: "string", value: "<format>", help: "cost: text (default), json or csv" },
      full: { type: "boolean", help: "show: fold nothing" },
      "older-than": {
        type: "string",
        value: "<age>",
        help: "gc: remove sessions not touched for 30d, or since an ISO date",
      },
      keep: { type: "string", value: "<n>", help: "gc: remove all but the n sessions touched last" },
      "max-bytes": { type: "string", value: "<size>", help: "gc: remove the oldest until the rest fits: 500M, 2G" },
      "dry-run": { type: "boolean", help: "gc: show what would be removed; change nothing" },
      ...ALL_PROGRAMS_FLAG,
      ...STORE_FLAG,
      ...NO_COLOR_FLAG,
    },
    example: `${name} sessions list --since 7d`,
    ...actionsOf(ACTIONS, "list"),
  };
}

export function storeCommand(name: string): Command {
  return {
    name: "store",
    summary: "Copy every session into another store",
    operands: "copy <from> <to>",
    flags: {
      overwrite: { type: "boolean", help: "Replace sessions that are different in both" },
      ...JSON_FLAG,
    },
    example: `${name} store copy file:~/.chimera postgres://chimera@db.internal/chimera`,
    ...actionsOf(STORE_ACTIONS, "copy"),
  };
}

const REWIND_FLAGS: Flags = {
  steps: { type: "string", short: "n", value: "<n>", help: "How many turns (default 1)" },
  force: { type: "boolean", help: "Also overwrite files that were changed since" },
  "dry-run": { type: "boolean", help: "Show what would happen; change nothing" },
  cwd: { type: "string", value: "<dir>", help: "Without an id: the last session of this directory (default: here)" },
  ...STORE_FLAG,
  ...JSON_FLAG,
};

export function rewindCommands(name: string): Command[] {
  return (["undo", "redo"] as const).map((direction) => ({
    name: direction,
    summary: direction === "undo" ? "Undo a session's last turns and their files" : "Redo undone turns and their files",
    operands: "[<id>]",
    maxOperands: 1,
    flags: REWIND_FLAGS,
    example: `${name} ${direction} --steps 2`,
    load: loaded(async () => (await import("../sessions/change.js")).rewind(direction)),
  }));
}

// --- internal ---

const STORE_ACTIONS: Readonly<Record<string, Action>> = {
  copy: { maxOperands: 2, load: async () => (await import("../sessions/copy.js")).copyStore },
};

const ACTIONS: Readonly<Record<string, Action>> = {
  list: { load: async () => (await import("../sessions/list.js")).listSessions },
  show: { maxOperands: 1, load: async () => (await import("../sessions/show.js")).showSession },
  cost: { load: async () => (await import("../reports/cost.js")).showCost },
  rename: {
    maxOperands: Number.POSITIVE_INFINITY,
    load: async () => (await import("../sessions/change.js")).renameSession,
  },
  delete: {
    maxOperands: Number.POSITIVE_INFINITY,
    load: async () => (await import("../sessions/change.js")).deleteSessions,
  },
  search: {
    maxOperands: Number.POSITIVE_INFINITY,
    load: async () => (await import("../sessions/list.js")).searchSessions,
  },
  gc: { load: async () => (await import("../sessions/gc.js")).collectGarbage },
};
