/** Sums a conversation up: the request to the model, what happens when the model fails, and the summary as the model reads it. */
import { callsOf, textOf } from "@chimera/acp-schema/parts";
import { endOf, startOf } from "@chimera/acp-schema/text";
import { type AgentErrorCode, isAgentError } from "../errors.js";
import type { ModelMessage, ModelRequest } from "../providers/model.js";

/** The conversation to sum up. */
export interface CompactRequest extends Pick<ModelRequest, "system" | "tools" | "messages"> {
  /** Most tokens in a request. */
  readonly room: number;
  /** Whether the provider is likely to accept a request with all of `messages`. */
  readonly fits: boolean;
  /** What the summary should emphasise, in the person's words; may be empty. */
  readonly focus: string;
  /** Asks the model of the conversation, and tries again after temporary failures. Throws an `AgentError`. */
  ask(request: Pick<ModelRequest, "system" | "tools" | "messages">): Promise<string>;
}

/**
 * Returns a summary, which replaces the conversation in later requests. Sends the model the whole conversation with one more instruction,
 * which uses the provider's cache. If the provider refuses, sends a transcript that is cut to fit. If it refuses that too, the transcript
 * itself becomes the summary. Throws only temporary errors and those that a person has to fix: a lost network, a wrong key.
 */
export async function summarise(request: CompactRequest): Promise<string> {
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
}

/** The summary as the model reads it, with a word on how to use it. */
export function framed(summary: string): ModelMessage {
  const text =
    "The conversation up to here was long, so it was summed up. The summary below takes its place; what it does not say is gone. " +
    "It is what you know, not a new request: go on with the work from where it stands. Files may differ from what it says, so read " +
    `what you are about to change.\n\n<summary>\n${summary}\n</summary>`;
  return { role: "user", text, note: true };
}

// --- internal ---

const CHARACTERS_PER_TOKEN = 4;
/** Shares of the available room for the transcript, tried in this order. */
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

/** Errors after which a different request may succeed. */
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

/** About `room` characters at most: cuts long pieces to the same length, keeps short ones whole, then drops the oldest. */
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
    // An earlier summary is the only kind of note that stays in a conversation.
    case "user":
      return `${message.note ? "summary" : "user"}: ${message.text}`;
  }
}

function withoutMiddle(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = Math.floor((length * 2) / 3);
  return `${startOf(text, head)} […] ${endOf(text, length - head)}`;
}
