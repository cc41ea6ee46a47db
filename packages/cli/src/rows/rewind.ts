/** `undo` and `redo`. */
import type { Command, Flags } from "@chimera/host";
import { JSON_FLAG } from "../flags.js";
import { loaded } from "./loaded.js";

const FLAGS: Flags = {
  steps: { type: "string", short: "n", value: "<n>", help: "How many turns (default 1)" },
  force: { type: "boolean", help: "Also overwrite files that somebody else has changed since" },
  "dry-run": { type: "boolean", help: "Tell what would happen; change nothing" },
  cwd: { type: "string", value: "<dir>", help: "Whose last session, when no id is given (default: this directory's)" },
  ...JSON_FLAG,
};

export function rewindCommands(name: string): Command[] {
  return (["undo", "redo"] as const).map((direction) => ({
    name: direction,
    summary:
      direction === "undo" ? "Take a session's last turns back, files too" : "Bring undone turns back, files too",
    operands: "[<id>]",
    maxOperands: 1,
    flags: FLAGS,
    example: `${name} ${direction} --steps 2`,
    load: loaded(async () => (await import("../rewind/rewind.js")).rewind(direction)),
  }));
}
