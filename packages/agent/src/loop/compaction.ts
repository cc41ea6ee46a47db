/** Makes room in the window: a summary replaces the conversation, except for the last prompt and the latest work. */
import { callsOf } from "@chimera/acp-schema/parts";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError, asAgentError } from "../errors.js";
import type { ModelMessage, ModelRequest } from "../providers/model.js";
import { createDraft, streamReply } from "./draft.js";
import { noFailures, waitToRetry } from "./patience.js";
import type { RunningTurn } from "./running-turn.js";
import { framed, summarise } from "./summary.js";
import type { ModelContext } from "./window.js";

/** Shortens the conversation, before it fills the window or after a refusal. False when nothing is left to remove. */
export async function makeRoom(run: RunningTurn, why: "crowded" | "refused"): Promise<boolean> {
  const cut = why === "crowded" ? cutAhead(run) : cutAfterRefusal(run);
  if (!cut) return false;
  await compact(run, cut);
  return true;
}

/** Sums the history up because the person asked for it. Returns the answer to show them. */
export async function compactHistory(run: RunningTurn, focus: string): Promise<string> {
  const { context, window } = run;
  const { messages } = context;
  if (!hasWork(messages)) return "There is nothing to sum up yet.";
  const before = window.tokens(messages);
  const tail = tailWithin(run, Math.min(tailBudget(run), window.size(messages) / 4));
  const from = hasWork(messages.slice(0, tail)) ? tail : messages.length;
  await compact(run, { from, upTo: messages.length, fits: isWithin(run, messages.length), focus });
  const after = window.tokens(context.messages);
  return `The conversation is summed up: about ${before} tokens before, about ${after} now.`;
}

// --- internal ---

/** Tokens of the latest work that stay unchanged: a tenth of the window, but at most this many. */
const LONGEST_TAIL = 20_000;
const TAIL_SHARE = 10;
const LEAST_SHARE = 8;
/** Tokens; more than the request for a summary needs. */
const INSTRUCTION = 1_000;
/** Share of the window above which a provider is likely to refuse a request. */
const FULL = 0.95;

interface Cut {
  /** Index of the first message that stays. The prompt of its turn stays too. */
  readonly from: number;
  /** Index at which the summed-up messages end. */
  readonly upTo: number;
  /** Whether the provider is likely to accept a request with all of them. */
  readonly fits: boolean;
  readonly focus?: string;
}

function cutAhead(run: RunningTurn): Cut | null {
  const { context, window } = run;
  const { messages, accepted } = context;
  const unseen = unseenFrom(run);
  const from = Math.min(tailWithin(run, tailBudget(run)), unseen ?? messages.length);
  const going = messages.slice(0, from);
  // With a small window and a long system text, the conversation would be summed up at every step and gain almost nothing.
  if (!hasWork(going) || window.size(going) < window.limit / LEAST_SHARE) return null;
  const upTo = unseen === null || isWithin(run, messages.length) ? messages.length : accepted;
  return { from, upTo, fits: isWithin(run, upTo) };
}

/**
 * The provider accepted the earlier messages before, so it will accept and has cached them. The cut keeps the messages since then, and
 * leaves some room for the instruction.
 */
function cutAfterRefusal(run: RunningTurn): Cut | null {
  const { messages } = run.context;
  const unseen = unseenFrom(run);
  for (const from of unseen === null ? [] : [roomBefore(run, unseen), unseen])
    if (hasWork(messages.slice(0, from))) return { from, upTo: from, fits: true };
  return hasWork(messages) ? { from: messages.length, upTo: messages.length, fits: false } : null;
}

/** The nearest start before `at` that frees enough tokens to ask for a summary instead; 0 when too much would stay. */
function roomBefore(run: RunningTurn, at: number): number {
  const { context, window } = run;
  let from = at - 1;
  while (from > 0 && !(isStart(run, from) && window.size(context.messages.slice(from, at)) > INSTRUCTION)) from--;
  return window.size(context.messages.slice(from)) < window.limit / 3 ? from : 0;
}

/** Whether the first `upTo` messages fit the window. */
function isWithin({ context, window, model }: RunningTurn, upTo: number): boolean {
  return window.tokens(context.messages.slice(0, upTo)) < model.contextWindow * FULL;
}

/** Where the messages begin that the model has not answered yet; null when they are too long to keep. */
function unseenFrom(run: RunningTurn): number | null {
  const { messages, accepted } = run.context;
  const isSmall = run.window.size(messages.slice(accepted)) < run.window.limit / 3;
  return isSmall && isStart(run, accepted) ? accepted : null;
}

function tailBudget({ model }: RunningTurn): number {
  return Math.min(LONGEST_TAIL, model.contextWindow / TAIL_SHARE);
}

/** Whether there is a reply or a result that could be summed up. */
function hasWork(messages: readonly ModelMessage[]): boolean {
  return messages.some((message) => message.role === "assistant" || message.role === "tool");
}

/** Where the longest tail of the conversation that fits the budget begins; the length when no tail fits. */
function tailWithin(run: RunningTurn, budget: number): number {
  const { messages } = run.context;
  let from = messages.length;
  for (let at = messages.length - 1; at > 0; at--) {
    if (run.window.size(messages.slice(at)) > budget) break;
    if (isStart(run, at)) from = at;
  }
  return from;
}

/** Whether the kept messages may begin here: at a prompt, or at a reply with calls, in a turn whose number is known. */
function isStart({ context }: RunningTurn, at: number): boolean {
  const message = context.messages[at];
  const starts =
    (message?.role === "user" && !message.note) || (message?.role === "assistant" && callsOf(message).length > 0);
  return starts && context.numbers.has(promptAt(context, at) as ModelMessage);
}

/** The prompt of the turn to which a message belongs. */
function promptAt({ messages }: ModelContext, at: number): ModelMessage | undefined {
  return messages.slice(0, at + 1).findLast((message) => message.role === "user" && !message.note);
}

async function compact(run: RunningTurn, { from, upTo, fits, focus = "" }: Cut): Promise<void> {
  const { context, window, system, toolbox, model } = run;
  const text = "The conversation is being summed up to make room for what follows.";
  run.emit({ type: "notice", metadata: { level: "info", text } });
  const said = await summarise({
    system,
    tools: toolbox.tools,
    messages: context.messages.slice(0, upTo),
    room: Math.floor(window.limit),
    fits,
    focus,
    ask: (request) => askQuietly(run, request),
  }).catch((error: unknown) => {
    // A failed attempt has cost something too.
    run.emit({ type: "usage", metadata: run.spending.state() });
    throw error;
  });
  if (said.trim() === "") throw new AgentError("empty_reply", "the summary of the conversation is empty");
  // As many characters as the window has tokens: about a quarter of it, which leaves room for work.
  const summary = startOf(said, Math.max(1_000, Math.floor(model.contextWindow)));
  const metadata = { summary, ...placeOf(run, from) };
  const prompt = from < context.messages.length || !run.turn.compact ? promptAt(context, from) : undefined;
  const kept = context.messages.slice(from);
  const first = prompt && prompt !== kept[0] ? [prompt] : [];
  context.messages = [framed(summary), ...first, ...kept];
  context.accepted = 0;
  run.emit({ type: "compaction", metadata });
  run.spending.fill(window.tokens(context.messages));
  run.emit({ type: "usage", metadata: run.spending.state() });
}

/** The same position, as a record of the log names it. */
function placeOf({ turn, context }: RunningTurn, from: number): { from_turn: number; from_call?: string | null } {
  const first = context.messages[from];
  if (!first) return turn.compact ? { from_turn: turn.number + 1 } : { from_turn: turn.number, from_call: null };
  const from_turn = context.numbers.get(promptAt(context, from) as ModelMessage) ?? turn.number;
  const call = first.role === "assistant" ? callsOf(first)[0] : undefined;
  return call ? { from_turn, from_call: call.id } : { from_turn };
}

/** Asks for a reply that is not shown. Waits and tries again after temporary failures. */
async function askQuietly(
  run: RunningTurn,
  asked: Pick<ModelRequest, "system" | "tools" | "messages">,
): Promise<string> {
  const request: ModelRequest = {
    ...asked,
    signal: run.signal,
    session: run.turn.sessionId,
    effort: run.effort,
    summary: true,
    maxOutput: run.window.roomFor(asked.messages),
  };
  const quiet = { ...run, emit: () => {}, ids: { ...run.ids, take: (wanted: string) => wanted } };
  const failures = noFailures();
  for (;;) {
    const draft = createDraft();
    try {
      await streamReply(quiet, request, draft);
      if (draft.stop === "refusal" || draft.calls.length > 0)
        throw new AgentError("bad_reply", "the model did not sum the conversation up");
      if (!draft.spoke) throw new AgentError("empty_reply", "the model's summary of the conversation is empty");
      return draft.text;
    } catch (thrown) {
      run.signal.throwIfAborted();
      await waitToRetry(run, asAgentError(thrown), failures);
    } finally {
      if (draft.usage) run.spending.add(draft.usage);
    }
  }
}
