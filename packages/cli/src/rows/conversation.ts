/** The command that runs when none is named: a conversation, or with -p one answer. */
import type { Command } from "@chimera/host";
import { RUN_FLAGS } from "../run-flags.js";
import { loaded } from "./loaded.js";

export function conversationCommand(name: string): Command {
  return {
    name: "",
    summary: "Talk to the agent, or with -p get one answer",
    flags: RUN_FLAGS,
    startsSessions: true,
    example: `${name} -p 'list files and read README.md'`,
    load: loaded("", async () => (await import("../print/print.js")).print),
  };
}
