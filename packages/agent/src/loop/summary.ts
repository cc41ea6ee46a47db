/** Summing a conversation up: the words it is asked for in, what is done where the model cannot, and how the summary is handed on. */
import { callsOf, textOf } from "@chimera/acp-schema/parts";
import { endOf, startOf } from "@chimera/acp-schema/text";
import { type AgentErrorCode, isAgentError } from "../errors.js";
import type { ModelMessage, ModelRequest } from "../providers/model.js";

/** A conversation that is to be made smaller. */
export interface CompactRequest extends Pick<ModelRequest, "system" | "tools" | "messages"> {
  /** Tokens that a request may have. */
  readonly room: number;
  /** Whether a request with all of `messages` is likely to be taken. */
  readonly fits: boolean;
  /** What the summary should dwell on, in the person's words; may be empty. */
  readonly focus: string;
  /** Asks the model of the conversation, and waits out passing failures. Throws an `AgentError`. */
  ask(request: Pick<ModelRequest, "system" | "tools" | "messages">): Promise<string>;
}

/** Says what a conversation comes to. Later requests have it in the conversation's place. */
export type Compact = (request: CompactRequest) => Promise<string>;

/**
 * Asks the model with everything it has read and done and one instruction more, so that nothing is summed up unread and what the
 * provider has cached is used. Where that is refused, with a transcript that is cut to fit; where that is refused too, the
 * transcript itself is the summary. Throws only what passes, or what a person has to mend: a lost network, a wrong key.
 */
export const summarise: Compact = async (request) => {
  const { system, tools, messages, room, focus, ask } = request;
  if (request.fits) {
    const note = { role: "user" as const, text: instruction(focus), note: true };
    const said = await tried(() => ask({ system, tools, messages: [...messages, note] }));
    if (said.text) return said.text;
  }
  for (const share of SHARES) {
    const transcript = transcriptOf(messages, Math.floor(room * share * CHARACTERS_PER_TOKEN));
    const text = `${instruction(focus)}\n\nThe conversation, with long passages cut:\n\n${transcript}`;
    const said = await tried(() => ask({ system: SHORTENER, tools: [], messages: [{ role: "user", text }] }));
    if (said.text) return said.text;
    if (said.failure !== "context_overflow") break;
  }
  const most = Math.min(LONGEST_COPY, Math.floor((room * CHARACTERS_PER_TOKEN) / 8));
  return `(The model could not sum the conversation up. This is a copy of it with long passages cut.)\n\n${transcriptOf(messages, most)}`;
};

/** A summary as the model reads it: what it is, and how to use it. */
export function framed(summary: string): ModelMessage {
  const text =
    "The conversation up to here was long, so it was summed up. The summary below takes its place; what it does not say is gone. " +
    "It is what you know, not a new request: go on with the work from where it stands. Files may differ from what it says, so read " +
    `what you are about to change.\n\n<summary>\n${summary}\n</summary>`;
  return { role: "user", text, note: true };
}

// --- internal ---

const CHARACTERS_PER_TOKEN = 4;
/** Of the room there is, tried one after the other. */
const SHARES = [0.5, 0.2, 0.08];
const LONGEST_COPY = 40_000;
const SHORTEST_PIECE = 120;

const SHORTENER =
  "You sum up conversations between a person and a coding agent, so that the agent can go on without the original.";

function instruction(focus: string): string {
  return `Stop here and sum up this conversation. Your summary takes its place: you go on from it, and what it does not say is lost. \
Call no tool, and do not answer the last request now; it stays as it is.

Write under these headings, and leave out what no longer matters:

## Requests
Everything the person asked for, in their own words where the words matter, the latest last; what they ruled out; what they prefer.
## Decisions
What was decided, and why; what was tried and did not work.
## Facts
What was found out: exact names, paths, line numbers, values, messages, commands and their outcome. Quote what has to be exact.
## Files
Each file that was read, made or changed and still matters: its path, what is in it that matters, what was changed.
## State
What is done, what is under way, what is still to do, and the next step.

Be exact and complete rather than short, in at most 2,000 words. Begin with the first heading.${
    focus ? `\n\nThe person asks you to dwell on this: ${focus}` : ""
  }`;
}

/** What asking again in another way may get around. */
const REFUSED: ReadonlySet<AgentErrorCode> = new Set([
  "context_overflow",
  "bad_request",
  "bad_reply",
  "empty_reply",
  "script",
]);

async function tried(ask: () => Promise<string>): Promise<{ text: string; failure: AgentErrorCode | null }> {
  try {
    return { text: (await ask()).trim(), failure: null };
  } catch (error) {
    if (!isAgentError(error) || !REFUSED.has(error.code)) throw error;
    return { text: "", failure: error.code };
  }
}

/** Has at most `room` characters or so: what is short stays whole, what is long is cut to one length, then the oldest goes. */
function transcriptOf(messages: readonly ModelMessage[], room: number): string {
  const pieces = messages.map(lineOf);
  let most = pieces.reduce((longest, piece) => Math.max(longest, piece.length), 0);
  const length = (): number => pieces.reduce((sum, piece) => sum + Math.min(piece.length, most) + 1, 0);
  while (most > SHORTEST_PIECE && length() > room) most = Math.max(SHORTEST_PIECE, Math.floor(most * 0.8));
  return endOf(pieces.map((piece) => withoutMiddle(piece, most)).join("\n"), room);
}

function lineOf(message: ModelMessage): string {
  switch (message.role) {
    case "tool":
      return `[${message.name}${message.success ? "" : " failed"}: ${message.output}]`;
    case "assistant":
      return [
        "assistant:",
        textOf(message),
        ...callsOf(message).map(({ name, args }) => `[calls ${name} ${JSON.stringify(args)}]`),
      ]
        .filter(Boolean)
        .join(" ");
    // Of the notes, only an earlier summary stays in a conversation.
    case "user":
      return `${message.note ? "summary" : "user"}: ${message.text}`;
  }
}

function withoutMiddle(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = Math.floor((length * 2) / 3);
  return `${startOf(text, head)} […] ${endOf(text, length - head)}`;
}
