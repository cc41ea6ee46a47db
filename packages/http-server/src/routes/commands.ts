/** Slash commands: lists those of a session and the custom ones, and sends a custom one as a prompt. */
import type { CommandsReply, InvokeCommandReply, SessionCommandsReply } from "@chimera/acp-schema/http";
import { type CustomCommand, renderCommand } from "@chimera/session/commands";
import { keyOf } from "../creations.js";
import { HttpError } from "../http-error.js";
import { readBody } from "../request/body.js";
import { type Handlers, pathPart, type RouteDeps } from "./route.js";

const FIELD_CODES = {
  session_id: "missing_session_id",
  args: "args_must_be_list",
  kwargs: "kwargs_must_be_object",
} as const;

export function commandRoutes({ deps, openSession }: RouteDeps) {
  const discover = async () => (await deps.palette?.custom(deps.defaultCwd)) ?? [];
  return {
    "GET /commands": async (c) => {
      const commands = (await discover()).map(({ name, description, args, source }) => ({
        name,
        description,
        args: args.map((arg) => ({ name: arg.name, description: arg.description })),
        source,
      }));
      return c.json({ commands } satisfies CommandsReply);
    },
    "GET /sessions/{id}/commands": async (c) => {
      const { cwd, conversation } = await openSession.read(pathPart(c, "id"));
      const custom = (await deps.palette?.custom(cwd)) ?? [];
      const own = [...(deps.palette?.commands ?? []), ...custom];
      // A built-in command always keeps its name: `/undo` acts on the session's log.
      const engine = conversation.facts.engineCommands.filter(({ name }) => !own.some((one) => one.name === name));
      const all: SessionCommandsReply["commands"] = [...own, ...engine];
      const commands = all.map(({ name, description, hint }) => ({ name, description, ...(hint && { hint }) }));
      return c.json({ commands } satisfies SessionCommandsReply);
    },
    "POST /commands/{name}/invoke": async (c) => {
      const name = pathPart(c, "name");
      const { session_id, args = [], kwargs = {} } = await readBody(c, "POST /commands/{name}/invoke", FIELD_CODES);
      const session = await openSession(session_id);
      // The name is compared with the files that were found. It never becomes part of a path.
      const command = (await discover()).find((candidate) => candidate.name === name);
      if (!command) throw new HttpError(404, "command_not_found", "there is no such command", { fields: { name } });
      const rendered = render(command, args, kwargs);
      const { messageId, durable } = session.prompt({ text: rendered, literal: true, key: keyOf(c) });
      await durable;
      return c.json({ message_id: messageId, name, rendered } satisfies InvokeCommandReply, 202);
    },
  } satisfies Handlers;
}

// --- internal ---

type Word = string | number | boolean;

/** Renders a command. Throws 400 for too many arguments or too long a prompt, and 500 for any other error. */
function render(command: CustomCommand, args: readonly Word[], kwargs: Readonly<Record<string, Word>>): string {
  try {
    const named = new Map(Object.entries(kwargs).map(([name, value]) => [name, String(value)]));
    return renderCommand(command, { positional: args.map(String), named });
  } catch (cause) {
    const isCallersFault = cause instanceof RangeError;
    const detail = isCallersFault ? cause.message : "the command could not be rendered";
    throw new HttpError(isCallersFault ? 400 : 500, "command_invoke_failed", detail, { cause, fields: { detail } });
  }
}
