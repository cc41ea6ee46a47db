/** The command that runs when none is named: a conversation, or with -p one answer. */
import type { Command, Invocation } from "@chimera/host";
import { RUN_FLAGS } from "../run-flags.js";
import { loaded } from "./loaded.js";

export function conversationCommand(name: string): Command {
  return {
    name: "",
    summary: "Talk to the agent, or with -p get one answer",
    flags: RUN_FLAGS,
    startsSessions: true,
    example: `${name} -p 'list files and read README.md'`,
    load: loaded("", async () => (invocation) => (isPrint(invocation) ? print(invocation) : converse(invocation))),
  };
}

// --- internal ---

/** A prompt was typed: there is something to answer, and nobody to talk to. */
function isPrint({ flags }: Invocation): boolean {
  return flags["print"] !== undefined;
}

async function print(invocation: Invocation): Promise<number> {
  return (await import("../print/print.js")).print(invocation);
}

async function converse(invocation: Invocation): Promise<number> {
  return (await import("../conversation/local.js")).converseHere(invocation);
}
