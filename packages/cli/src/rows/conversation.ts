/** Conversations with a session of this process or of a running server, and single answers with -p. */
import { type Command, configFlags, type Flags, type Invocation, SESSION_FLAGS } from "@chimera/host";
import { loaded } from "../actions.js";
import { NO_COLOR_FLAG } from "../flags.js";

export function conversationCommand(name: string): Command {
  return {
    name: "",
    summary: "Talk to the agent, or with -p get one answer",
    operands: "['<prompt>']",
    maxOperands: 1,
    startsSessions: true,
    flags: RUN_FLAGS,
    example: `${name} -p 'list files and read README.md'`,
    load: loaded(
      async () => async (invocation) =>
        isPrint(invocation)
          ? (await import("../print/print.js")).print(invocation)
          : (await import("../conversation/start.js")).converseHere(invocation),
    ),
  };
}

/** The same command with a name. */
export function chatCommand(name: string): Command {
  const summary = "Talk to the agent, as without a command";
  return { ...conversationCommand(name), name: "chat", summary, example: `${name} chat --mcp servers.json` };
}

export function attachCommand(name: string): Command {
  return {
    name: "attach",
    summary: "Join a session of a running server",
    operands: "<url> [<session>]",
    maxOperands: 2,
    flags: {
      "auth-token-file": {
        type: "string",
        value: "<file>",
        help: `File with the server's token (default: $${name.toUpperCase()}_SERVER_TOKEN)`,
      },
      ...configFlags("agent", "mode"),
      ...NO_COLOR_FLAG,
      ...PLAIN_FLAG,
    },
    example: `${name} attach http://127.0.0.1:5173`,
    load: loaded(async () => (await import("../conversation/start.js")).attach),
  };
}

// --- internal ---

/** Whether to print one answer: with -p, or for a prompt without a terminal to continue at. */
function isPrint({ flags, operands, process }: Invocation): boolean {
  const isHere = process.stdin.isTTY === true && process.stdout.isTTY === true;
  return flags["print"] !== undefined || (operands.length > 0 && !isHere);
}

const PLAIN_FLAG: Flags = {
  plain: { type: "boolean", help: "Print plain lines only, for screen readers" },
};

/** The flags of a run, for `-p` and for the conversation. */
const RUN_FLAGS: Flags = {
  print: { type: "string", short: "p", value: "<prompt>", help: "Answer one prompt and exit; - reads it from stdin" },
  file: {
    type: "string",
    short: "f",
    multiple: true,
    value: "<path>",
    help: "Put a file before the prompt; - is stdin (repeatable)",
  },
  "output-format": { type: "string", value: "<format>", help: "With -p: text (default), json or stream-json" },
  resume: {
    type: "string",
    value: "[<id>]",
    help: "Continue a session: the end of its id is enough; without an id, choose one",
  },
  continue: { type: "boolean", short: "c", help: "Continue the last session of this directory" },
  title: { type: "string", value: "<title>", help: "Name the session" },
  ...SESSION_FLAGS,
  ...NO_COLOR_FLAG,
  ...PLAIN_FLAG,
};
