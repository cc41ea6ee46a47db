/** Gets the model's next reply in spite of failures: waits and asks again, and continues a reply that broke off. */
import type { TextPart } from "@chimera/acp-schema/events";
import { AgentError, asAgentError } from "../errors.js";
import type { ModelMessage, ModelRequest } from "../providers/model.js";
import { makeRoom } from "./compaction.js";
import { createDraft, type Draft, streamReply, wholeText } from "./draft.js";
import { type Failures, noFailures, waitToRetry } from "./patience.js";
import type { RunningTurn } from "./running-turn.js";

/** The state of one reply over all requests for it. */
export interface Pursuit {
  /** The text that was shown before the reply broke off. */
  before: readonly TextPart[];
  /** The note to the model in the next request. */
  note: string | null;
  /** Whether to ask for as many output tokens as the model can give. */
  raised: boolean;
  failures: Failures;
  tooLong: number;
  empty: number;
  /** Whether a refusal without a known reason has already been treated as an overflow. */
  guessed: boolean;
}

export function createPursuit(): Pursuit {
  return { before: [], note: null, raised: false, failures: noFailures(), tooLong: 0, empty: 0, guessed: false };
}

/**
 * Returns a complete reply; or null when it broke off after a part of it was recorded. Its text then stays, and the next step continues
 * from there. No text is shown twice, and no call of an incomplete reply is returned.
 */
export async function nextReply(run: RunningTurn, pursuit: Pursuit): Promise<Draft | null> {
  if (run.window.tokens(messagesOf(run, pursuit)) > run.window.limit) await makeRoom(run, "crowded");
  for (;;) {
    const draft = createDraft(pursuit.before);
    const trouble = await ask(run, pursuit, draft);
    if (!trouble || !(await overcome(run, pursuit, draft, trouble))) {
      // Later requests must repeat the messages that were answered, because reasoning is bound to them.
      run.context.messages.push(...pending(pursuit));
      run.context.accepted = run.context.messages.length;
      Object.assign(pursuit, createPursuit());
      return draft;
    }
    run.ids.release(draft.calls);
    if (!draft.shown) continue;
    if (draft.spoke) pursuit.before = [...pursuit.before, ...saidIn(draft)];
    return null;
  }
}

// --- internal ---

/** Notes to the model, sent in the person's place when a reply is requested again. They stay until the turn ends. */
const notes = {
  /** The connection was lost, or the provider failed, after some text had arrived. */
  brokeOff:
    "Your last reply broke off while it was sent. What arrived of it stands above. Go on exactly where it stops and repeat nothing of " +
    "it. No call of it was run: make the calls again that you still need.",

  /** The reply reached the output limit; `calls` are the names of the tools it called. */
  tooLong: (spoke: boolean, calls: readonly string[]): string =>
    [
      "Your last reply reached the limit on the length of a reply and was cut there.",
      spoke
        ? "What arrived of it stands above: go on exactly where it stops and repeat nothing of it."
        : "Nothing of it was said.",
      calls.length > 0
        ? `Its calls (${calls.join(", ")}) are incomplete, so none was run. Make them again whole; do long work in several calls that are shorter each, such as a file written in parts.`
        : "Keep the rest short, or do it in several steps.",
    ].join(" "),

  empty:
    "Your last reply was empty. If the task is not done, go on with it by calling a tool. If it is done, say in a few words what you " +
    "found or did.",
} as const;

const MOST_TOO_LONG = 3;
const MOST_EMPTY = 2;
/** How full the window must be for a refusal without a known reason to count as an overflow. */
const SUSPICIOUS = 0.7;
const FULL = 0.95;

type Trouble = AgentError | "too long" | "empty";

function messagesOf({ context }: RunningTurn, pursuit: Pursuit): ModelMessage[] {
  return [...context.messages, ...pending(pursuit)];
}

/** The messages of the next request that follow the conversation. */
function pending({ before, note }: Pursuit): ModelMessage[] {
  return [
    ...(before.length > 0 ? [{ role: "assistant" as const, parts: before }] : []),
    ...(note === null ? [] : [{ role: "user" as const, text: note, note: true }]),
  ];
}

/** Asks once. Records the cost and the text of the request even when it fails. */
async function ask(run: RunningTurn, pursuit: Pursuit, draft: Draft): Promise<Trouble | null> {
  const { system, toolbox, signal, turn, window, context } = run;
  const messages = messagesOf(run, pursuit);
  const room = window.roomFor(messages);
  const isLimited = room !== undefined && (pursuit.raised || room < (run.model.maxOutput ?? 0));
  const request: ModelRequest = {
    system,
    messages,
    tools: toolbox.tools,
    signal,
    session: turn.sessionId,
    effort: run.effort,
    maxOutput: isLimited ? room : undefined,
  };
  try {
    await streamReply(run, request, draft);
    context.accepted = context.messages.length;
    return troubleIn(draft, run);
  } catch (thrown) {
    signal.throwIfAborted();
    return asAgentError(thrown);
  } finally {
    if (draft.spoke) run.progress.output = wholeText(draft);
    if (draft.usage) {
      window.measure(messages, draft.usage);
      run.spending.add(draft.usage);
      run.emit({ type: "usage", metadata: run.spending.state() });
    }
  }
}

/** What is wrong with a reply that ended properly; null for nothing. */
function troubleIn(draft: Draft, { model, spending }: RunningTurn): Trouble | null {
  const { stop, calls, spoke, before } = draft;
  const nothing = !spoke && calls.length === 0;
  const full = draft.usage !== null && spending.usedBy(draft.usage) >= model.contextWindow * FULL;
  // Some servers report no overflow: they cut the request and send an empty reply.
  if (nothing && full && stop !== "refusal")
    return new AgentError("context_overflow", "the conversation fills the model's context window");
  if (stop === "max_tokens") return "too long";
  if (stop === "refusal" || !nothing) return null;
  // The reply had broken off right before its end, so an empty continuation is complete.
  return before.length > 0 ? null : "empty";
}

/** Prepares the next attempt. Returns false to accept the reply unchanged; throws when no reply can be had. */
async function overcome(run: RunningTurn, pursuit: Pursuit, draft: Draft, trouble: Trouble): Promise<boolean> {
  if (trouble === "too long") {
    if (pursuit.tooLong++ >= MOST_TOO_LONG) return false;
    pursuit.raised = true;
    pursuit.note = notes.tooLong(
      draft.spoke || pursuit.before.length > 0,
      draft.calls.map((call) => call.name),
    );
    warn(
      run,
      `the reply reached the model's output limit; asking for the rest (${pursuit.tooLong} of ${MOST_TOO_LONG})`,
    );
    return true;
  }
  if (trouble === "empty") {
    if (pursuit.empty++ >= MOST_EMPTY)
      throw new AgentError("empty_reply", `the model answered with nothing, ${pursuit.empty} times in a row`);
    pursuit.note = notes.empty;
    warn(run, `the model answered with nothing; asking again (${pursuit.empty} of ${MOST_EMPTY})`);
    return true;
  }
  const begun = draft.spoke || pursuit.before.length > 0;
  if (isOverflow(run, pursuit, trouble)) {
    run.window.refused(messagesOf(run, pursuit));
    if (!(await makeRoom(run, "refused"))) throw trouble;
  } else await waitToRetry(run, trouble, pursuit.failures, begun ? "going on from there" : undefined);
  if (begun) pursuit.note = notes.brokeOff;
  return true;
}

/** Treats a refusal without a known reason as an overflow once, if the request is long. */
function isOverflow(run: RunningTurn, pursuit: Pursuit, { code }: AgentError): boolean {
  if (code === "context_overflow") return true;
  if (code !== "bad_request" || pursuit.guessed) return false;
  pursuit.guessed = true;
  return run.window.tokens(messagesOf(run, pursuit)) > run.window.limit * SUSPICIOUS;
}

/** The text of an interrupted reply. Its reasoning is dropped, because a provider takes it back only with a complete reply. */
function saidIn(draft: Draft): TextPart[] {
  return draft.parts
    .take()
    .flatMap((part) => (part.type === "text" && part.text !== "" ? [{ type: "text", text: part.text }] : []));
}

function warn(run: RunningTurn, text: string): void {
  run.emit({ type: "notice", metadata: { level: "warning", text } });
}
