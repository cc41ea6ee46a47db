/** Making room when the conversation outgrows the model's context window. */
import { callsOf, textOf } from "@chimera/acp-schema/parts";
import { endOf, startOf } from "@chimera/acp-schema/text";
import type { ModelMessage } from "../providers/model.js";
import { createDraft } from "./draft.js";
import { estimatedTokens } from "./model-context.js";
import type { Run } from "./run.js";
import { streamStep } from "./step.js";

/** Turns before this one that stay word for word beside the summary, while they are small. */
const KEPT_TURNS = 2;
/** Results of this turn that stay whole when older ones must go. */
const KEPT_RESULTS = 4;
const SHORT_RESULT = 400;
const ELIDED = "[This output was left out to make room. Call the tool again if you need it.]";

/** Whether the next request should not be sent as it is. */
export function isCrowded({ model, context, system, spending }: Run): boolean {
  const estimate = Math.max(spending.used, estimatedTokens(context.messages) + Math.ceil(system.length / 4));
  return estimate > model.contextWindow * 0.9;
}

/** Shortens the conversation; false when there is nothing left to shorten. */
export async function makeRoom(run: Run): Promise<boolean> {
  return (await summariseHistory(run)) || elideResults(run);
}

// --- internal ---

async function summariseHistory(run: Run): Promise<boolean> {
  const { context, model, turn } = run;
  const history = context.messages.slice(0, context.turnStart);
  if (context.summarised || !history.some((message) => message.role === "assistant")) return false;
  context.summarised = true;
  const text = `Summary of the conversation so far:\n${await summaryOf(run, history)}`;
  const recent = lastTurns(history);
  const kept = estimatedTokens(recent) < model.contextWindow / 4 ? recent : [];
  const current = context.messages.slice(context.turnStart);
  // The recent turns are in the summary too: later turns get the summary alone, and must miss nothing.
  context.messages = [{ role: "summary", text }, ...kept.filter(said), ...current];
  context.turnStart = context.messages.length - current.length;
  run.emit({ type: "compaction", metadata: { summary: text, from_turn: turn.number } });
  return true;
}

/** What was said stays; what tools printed then is in the summary, if it mattered. */
function said(message: ModelMessage): boolean {
  return message.role === "user" || (message.role === "assistant" && callsOf(message).length === 0);
}

function lastTurns(history: readonly ModelMessage[]): readonly ModelMessage[] {
  let start = history.length;
  for (let turns = 0; start > 0 && turns < KEPT_TURNS; start--) if (history[start - 1]?.role === "user") turns++;
  return history.slice(start);
}

async function summaryOf(run: Run, history: readonly ModelMessage[]): Promise<string> {
  const transcript = transcriptOf(history, run.model.contextWindow);
  const draft = createDraft();
  const quiet = { ...run, emit: () => {} };
  try {
    await streamStep(quiet, { ...summaryRequest(transcript), signal: run.signal }, draft);
  } catch {
    run.signal.throwIfAborted();
  }
  if (draft.usage) run.spending.add(draft.usage);
  return (
    cut(draft.text.trim(), run.model.contextWindow) ||
    `(The model could not summarise; this is the shortened transcript.)\n${endOf(transcript, 8_000)}`
  );
}

function summaryRequest(transcript: string) {
  return {
    system:
      "You shorten conversations between a person and a coding agent so that the agent can go on without the original.",
    messages: [
      {
        role: "user" as const,
        text: `Summarise this conversation for the agent that continues it. Keep: what the person wants, decisions and their reasons, files read or changed and what matters in them, commands and their outcome, what is still open. Be brief and exact.\n\n${transcript}`,
      },
    ],
    tools: [],
  };
}

/** Fits a third of the window whatever the history holds: messages are cut to a fair share, then the oldest go. */
function transcriptOf(history: readonly ModelMessage[], contextWindow: number): string {
  const room = Math.floor((contextWindow * 4) / 3);
  const share = Math.max(200, Math.floor(room / history.length));
  const lines = history.map((message) => {
    if (message.role === "tool") {
      return `[${message.name}: ${message.success ? "" : "failed: "}${cut(message.output, Math.min(share, 500))}]`;
    }
    if (message.role !== "assistant") return `${message.role}: ${cut(message.text, share)}`;
    const calls = callsOf(message).map((call) => `\n[calls ${call.name} ${cut(JSON.stringify(call.args), 200)}]`);
    return `assistant: ${cut(textOf(message), share)}${calls.join("")}`;
  });
  return endOf(lines.join("\n"), room);
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${startOf(text, length)} […]`;
}

function elideResults(run: Run): boolean {
  const { context } = run;
  const results = context.messages.filter((message) => message.role === "tool");
  const old = new Set(results.slice(0, -KEPT_RESULTS).filter((message) => message.output.length > SHORT_RESULT));
  if (old.size === 0) return false;
  context.messages = context.messages.map((message) =>
    message.role === "tool" && old.has(message) ? { ...message, output: ELIDED, images: [] } : message,
  );
  const text = `The context window is full: the output of ${old.size} earlier calls is no longer shown to the model.`;
  run.emit({ type: "notice", metadata: { level: "info", text } });
  return true;
}
