/** The model's next reply, whatever happens on the way: failures are waited out, and what broke off is gone on with. */
import type { TextPart } from "@chimera/acp-schema/events";
import { AgentError, asAgentError } from "../errors.js";
import type { ModelMessage, ModelRequest } from "../providers/model.js";
import { makeRoom } from "./compaction.js";
import { createDraft, type Draft, streamReply, wholeText } from "./draft.js";
import { type Failures, noFailures, waitToRetry } from "./patience.js";
import type { RunningTurn } from "./running-turn.js";

/** One reply, over all the requests that it takes. */
export interface Pursuit {
  /** What was shown of it before it broke off. */
  before: readonly TextPart[];
  /** What the model reads when it is asked again. */
  note: string | null;
  /** Asked for as many tokens as the model can. */
  raised: boolean;
  failures: Failures;
  tooLong: number;
  empty: number;
  /** Whether room was made because a request was refused without a reason that is known. */
  guessed: boolean;
}

export function createPursuit(): Pursuit {
  return { before: [], note: null, raised: false, failures: noFailures(), tooLong: 0, empty: 0, guessed: false };
}

/**
 * A whole reply, or null when it broke off after something of it was on record: what was said stands, and the next step goes on from
 * there. Nothing is said twice, and no call of a reply that is not whole is returned.
 */
export async function nextReply(run: RunningTurn, pursuit: Pursuit): Promise<Draft | null> {
  if (run.window.tokens(messagesOf(run, pursuit)) > run.window.limit) await makeRoom(run, "crowded");
  for (;;) {
    const draft = createDraft(pursuit.before);
    const trouble = await ask(run, pursuit, draft);
    if (!trouble || !(await overcome(run, pursuit, draft, trouble))) {
      // What was answered stays as it was sent: reasoning is bound to it.
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

/** What the program says to the model, in the person's place, when it asks for a reply again. Kept until the turn ends. */
const notes = {
  /** The connection was lost, or the provider failed, after something had been said. */
  brokeOff:
    "Your last reply broke off while it was sent. What arrived of it stands above. Go on exactly where it stops and repeat nothing of " +
    "it. No call of it was run: make the calls again that you still need.",

  /** The reply was longer than a reply may be; `calls` names what it called. */
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
/** How full the window must be for a refusal without a known reason, or a reply of nothing, to be put down to it. */
const SUSPICIOUS = 0.7;
const FULL = 0.95;

type Trouble = AgentError | "too long" | "empty";

function messagesOf({ context }: RunningTurn, pursuit: Pursuit): ModelMessage[] {
  return [...context.messages, ...pending(pursuit)];
}

/** What the next request has besides the conversation. */
function pending({ before, note }: Pursuit): ModelMessage[] {
  return [
    ...(before.length > 0 ? [{ role: "assistant" as const, parts: before }] : []),
    ...(note === null ? [] : [{ role: "user" as const, text: note, note: true }]),
  ];
}

/** Asks once. What the request cost and brought is on record also when it failed. */
async function ask(run: RunningTurn, pursuit: Pursuit, draft: Draft): Promise<Trouble | null> {
  const { system, toolbox, signal, turn, window, context } = run;
  const messages = messagesOf(run, pursuit);
  const room = window.roomFor(messages);
  const maxOutput =
    room !== undefined && (pursuit.raised || room < (run.model.maxOutput ?? 0)) ? { maxOutput: room } : {};
  const request: ModelRequest = {
    system,
    messages,
    tools: toolbox.tools,
    signal,
    session: turn.sessionId,
    ...(run.effort && { effort: run.effort }),
    ...maxOutput,
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

/** What is wrong with a reply that has an end. */
function troubleIn(draft: Draft, { model, spending }: RunningTurn): Trouble | null {
  const { stop, calls, spoke, before } = draft;
  const nothing = !spoke && calls.length === 0;
  const full = draft.usage !== null && spending.usedBy(draft.usage) >= model.contextWindow * FULL;
  // Some servers have no word for it: they cut what they were sent, and answer with nothing.
  if (nothing && full && stop !== "refusal")
    return new AgentError("context_overflow", "the conversation fills the model's context window");
  if (stop === "max_tokens") return "too long";
  if (stop === "refusal" || !nothing) return null;
  // A reply that broke off right before its end has nothing to add.
  return before.length > 0 ? null : "empty";
}

/** Prepares for asking again. False when the reply has to be taken as it is; throws when there is none to be had. */
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

/** A request that is refused without a known reason may just be too long, where it is long. */
function isOverflow(run: RunningTurn, pursuit: Pursuit, { code }: AgentError): boolean {
  if (code === "context_overflow") return true;
  if (code !== "bad_request" || pursuit.guessed) return false;
  pursuit.guessed = true;
  return run.window.tokens(messagesOf(run, pursuit)) > run.window.limit * SUSPICIOUS;
}

/** What was said, without what was thought: reasoning goes back only with what came of it. */
function saidIn(draft: Draft): TextPart[] {
  return draft.parts
    .take()
    .flatMap((part) => (part.type === "text" && part.text !== "" ? [{ type: "text", text: part.text }] : []));
}

function warn(run: RunningTurn, text: string): void {
  run.emit({ type: "notice", metadata: { level: "warning", text } });
}
