/** Making room: what was said and done is summed up, and the last prompt and the latest work stay word for word. */
import { callsOf } from "@chimera/acp-schema/parts";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError, asAgentError } from "../errors.js";
import type { ModelMessage, ModelRequest } from "../providers/model.js";
import { createDraft, streamReply } from "./draft.js";
import { noFailures, waitToRetry } from "./patience.js";
import type { RunningTurn } from "./running-turn.js";
import { framed } from "./summary.js";
import type { ModelContext } from "./window.js";

/** Makes the conversation smaller, before it fills the window or after a refusal. False when nothing is left to go. */
export async function makeRoom(run: RunningTurn, why: "crowded" | "refused"): Promise<boolean> {
  const cut = why === "crowded" ? cutAhead(run) : cutAfterRefusal(run);
  if (!cut) return false;
  await compact(run, cut);
  return true;
}

/** Sums the history up because the person asked for it. Returns what to tell them. */
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

/** How much of the latest work stays word for word: a tenth of the window, and no more than this. */
const LONGEST_TAIL = 20_000;
const TAIL_SHARE = 10;
const LEAST_SHARE = 8;
/** Tokens; more than it takes to ask for a summary. */
const INSTRUCTION = 1_000;
/** A request that leaves less of the window than this is likely to be refused. */
const FULL = 0.95;

interface Cut {
  /** The first message that stays; the prompt before it stays too. */
  readonly from: number;
  /** Where what is summed up ends. */
  readonly upTo: number;
  /** Whether a request with all of it is likely to be taken. */
  readonly fits: boolean;
  readonly focus?: string;
}

function cutAhead(run: RunningTurn): Cut | null {
  const { context, window } = run;
  const { messages, accepted } = context;
  const unseen = unseenFrom(run);
  const from = Math.min(tailWithin(run, tailBudget(run)), unseen ?? messages.length);
  const going = messages.slice(0, from);
  // Where the window is small and the system text is long, a summary with every step would win next to nothing.
  if (!hasWork(going) || window.size(going) < window.limit / LEAST_SHARE) return null;
  const upTo = unseen === null || isWithin(run, messages.length) ? messages.length : accepted;
  return { from, upTo, fits: isWithin(run, upTo) };
}

/** What was taken once is taken again, and is cached: only what came since has to stay as it is, and some room for the instruction. */
function cutAfterRefusal(run: RunningTurn): Cut | null {
  const { messages } = run.context;
  const unseen = unseenFrom(run);
  for (const from of unseen === null ? [] : [roomBefore(run, unseen), unseen])
    if (hasWork(messages.slice(0, from))) return { from, upTo: from, fits: true };
  return hasWork(messages) ? { from: messages.length, upTo: messages.length, fits: false } : null;
}

/** The nearest start that leaves out enough before `at` to ask for a summary in its place; 0 when that is too much. */
function roomBefore(run: RunningTurn, at: number): number {
  const { context, window } = run;
  let from = at - 1;
  while (from > 0 && !(isStart(run, from) && window.size(context.messages.slice(from, at)) > INSTRUCTION)) from--;
  return window.size(context.messages.slice(from)) < window.limit / 3 ? from : 0;
}

/** Whether so many messages fit the window. */
function isWithin({ context, window, model }: RunningTurn, upTo: number): boolean {
  return window.tokens(context.messages.slice(0, upTo)) < model.contextWindow * FULL;
}

/** Where the messages begin that the model has not answered yet; null when they are too much to keep. */
function unseenFrom(run: RunningTurn): number | null {
  const { messages, accepted } = run.context;
  const isSmall = run.window.size(messages.slice(accepted)) < run.window.limit / 3;
  return isSmall && isStart(run, accepted) ? accepted : null;
}

function tailBudget({ model }: RunningTurn): number {
  return Math.min(LONGEST_TAIL, model.contextWindow / TAIL_SHARE);
}

/** Whether anything was said or done that could be summed up. */
function hasWork(messages: readonly ModelMessage[]): boolean {
  return messages.some((message) => message.role === "assistant" || message.role === "tool");
}

/** Where the longest end of the conversation begins that fits the budget; past the last message when none does. */
function tailWithin(run: RunningTurn, budget: number): number {
  const { messages } = run.context;
  let from = messages.length;
  for (let at = messages.length - 1; at > 0; at--) {
    if (run.window.size(messages.slice(at)) > budget) break;
    if (isStart(run, at)) from = at;
  }
  return from;
}

/** Whether what stays may begin here: at a prompt or at a reply with calls, of a turn whose number is known. */
function isStart({ context }: RunningTurn, at: number): boolean {
  const message = context.messages[at];
  const starts =
    (message?.role === "user" && !message.note) || (message?.role === "assistant" && callsOf(message).length > 0);
  return starts && context.numbers.has(promptAt(context, at) as ModelMessage);
}

/** The prompt of the turn that a message is of. */
function promptAt({ messages }: ModelContext, at: number): ModelMessage | undefined {
  return messages.slice(0, at + 1).findLast((message) => message.role === "user" && !message.note);
}

async function compact(run: RunningTurn, { from, upTo, fits, focus = "" }: Cut): Promise<void> {
  const { context, window, system, toolbox, model } = run;
  const text = "The conversation is being summed up to make room for what follows.";
  run.emit({ type: "notice", metadata: { level: "info", text } });
  const said = await run
    .compact({
      system,
      tools: toolbox.tools,
      messages: context.messages.slice(0, upTo),
      room: Math.floor(window.limit),
      fits,
      focus,
      ask: (request) => askQuietly(run, request),
    })
    .catch((error: unknown) => {
      // What was tried has its price all the same.
      run.emit({ type: "usage", metadata: run.spending.state() });
      throw error;
    });
  if (said.trim() === "") throw new AgentError("empty_reply", "the conversation was summed up in no words");
  // A summary of a quarter of the window leaves room for work.
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

/** The same place in words of the log. */
function placeOf({ turn, context }: RunningTurn, from: number): { from_turn: number; from_call?: string | null } {
  const first = context.messages[from];
  if (!first) return turn.compact ? { from_turn: turn.number + 1 } : { from_turn: turn.number, from_call: null };
  const from_turn = context.numbers.get(promptAt(context, from) as ModelMessage) ?? turn.number;
  const call = first.role === "assistant" ? callsOf(first)[0] : undefined;
  return call ? { from_turn, from_call: call.id } : { from_turn };
}

/** A reply that nobody sees; passing failures are waited out. */
async function askQuietly(
  run: RunningTurn,
  asked: Pick<ModelRequest, "system" | "tools" | "messages">,
): Promise<string> {
  const room = run.window.roomFor(asked.messages);
  const request: ModelRequest = {
    ...asked,
    signal: run.signal,
    session: run.turn.sessionId,
    ...(run.effort && { effort: run.effort }),
    summary: true,
    ...(room !== undefined && { maxOutput: room }),
  };
  const quiet = { ...run, emit: () => {}, ids: { ...run.ids, take: (wanted: string) => wanted } };
  const failures = noFailures();
  for (;;) {
    const draft = createDraft();
    try {
      await streamReply(quiet, request, draft);
      if (draft.stop === "refusal" || draft.calls.length > 0)
        throw new AgentError("bad_reply", "the model did something else than sum the conversation up");
      if (!draft.spoke) throw new AgentError("empty_reply", "the model summed the conversation up in no words");
      return draft.text;
    } catch (thrown) {
      run.signal.throwIfAborted();
      await waitToRetry(run, asAgentError(thrown), failures);
    } finally {
      if (draft.usage) run.spending.add(draft.usage);
    }
  }
}
