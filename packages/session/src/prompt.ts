/**
 * The stages of a prompt, in order. It is accepted when the log has it. It waits for the turns before it. It starts with `turn_start`. Its
 * agent runs and yields events. Unfinished questions and writes are settled. It ends with one last record.
 */
import type { ContentBlock } from "@chimera/acp-schema";
import type { Agent, EngineMemory, McpServer, Turn, TurnSettings } from "@chimera/acp-schema/agent";
import type { AgentEvent } from "@chimera/acp-schema/events";
import type { Policy } from "@chimera/acp-schema/policy";
import { wellFormed } from "@chimera/event-store";
import type { SessionSnapshots } from "@chimera/snapshot-store";
import type { Broker } from "./broker.js";
import { SessionError } from "./errors.js";
import type { Journal } from "./journal.js";
import { PERMISSION, QUESTION } from "./kinds-of-question.js";
import { limits } from "./limits.js";
import { type Consulting, consult } from "./policy.js";
import type { Attribution } from "./recorder.js";
import type { Accepted, PromptInput, ResolvedCommand } from "./session.js";
import type { Settings } from "./settings.js";
import { titleFrom } from "./summary.js";
import { type AgentOutcome, resultsForOpenCalls, runAgent, type TurnRun } from "./turn-run.js";
import type { WorkQueue } from "./work-queue.js";
import type { SessionWorkspace } from "./workspace.js";

/**
 * Content blocks -> the text that a model reads, and the blocks too if one of them is not text.
 *
 * @example
 * session.prompt(promptOf([{ type: "text", text: "hello" }]));
 */
export function promptOf(blocks: readonly ContentBlock[]): PromptInput {
  const text = blocks.map(textOf).filter(Boolean).join("\n");
  const plain = blocks.every((block) => block.type === "text");
  return plain ? { text } : { text, content: blocks as PromptInput["content"] & {} };
}

export interface PromptDeps {
  readonly sessionId: string;
  readonly agent: Agent;
  readonly journal: Journal;
  readonly queue: WorkQueue;
  readonly broker: Broker;
  readonly policy: Policy;
  readonly snapshots: SessionSnapshots | null;
  readonly workspace: SessionWorkspace;
  readonly memory: EngineMemory;
  readonly settings: () => Settings;
  /** Throws for a prompt beyond a limit of its sender. */
  readonly admitPrompt: (input: PromptInput) => void;
  readonly approveEdits: () => Promise<void>;
  readonly mcpServers: () => readonly McpServer[];
  /** Narrows the settings of a turn to the limits of its project. */
  readonly bound: (settings: TurnSettings, cwd: string) => TurnSettings;
  /** Finds the command of a prompt. Undefined if the text is not a command. */
  readonly resolve: (prompt: PromptInput) => Promise<ResolvedCommand | undefined>;
  readonly onError: (error: unknown) => void;
}

/** Writes a prompt to the log and queues its turn. Throws `queue_full`, or the error of the log if it cannot be written. */
export function acceptPrompt(deps: PromptDeps, given: PromptInput): Accepted {
  const { queue, journal } = deps;
  // After a failed write the conversation may hold a prompt that the log does not, and a second try with its key would be acknowledged.
  journal.requireSound();
  const input = wellFormed(given);
  const { text, content, key, origin } = input;
  const known = acceptedBefore(deps, input);
  if (known) return known;
  if (queue.waiting.length >= limits.queuedPrompts)
    throw new SessionError(
      "queue_full",
      `session ${deps.sessionId} already has ${queue.waiting.length} prompts waiting`,
    );
  deps.admitPrompt(input);
  journal.endInterrupted(queue.busy());
  const { turns } = journal.conversation;
  const number = turns.length;
  const startsNow = !queue.isAlone && [...queue.busy()].every((turn) => turns[turn]?.ended);
  const messageId = `msg-${number}`;
  const metadata = {
    prompt: messageId,
    text,
    ...(content && { content: [...content] }),
    ...(key !== undefined && { key }),
  };
  const durable = journal.accept({ type: "user_message", metadata }, { turn: number, origin });
  const prompt = content ? { text, content } : { text };
  queue.add({
    turn: number,
    run: (signal) => runPrompt(deps, { prompt, input, place: { turn: number, origin } }, signal),
    recover: (error) => recover(deps, error),
  });
  return { turn: number, messageId, status: startsNow ? "running" : "queued", durable };
}

// --- internal ---

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource_link":
      return `[${block.name ?? block.uri}](${block.uri})`;
    case "resource": {
      const { resource } = block;
      return "text" in resource
        ? `<resource uri="${attribute(resource.uri)}">\n${resource.text}\n</resource>`
        : `[attached: ${resource.uri}${resource.mimeType ? `, ${resource.mimeType}` : ""}]`;
    }
    case "audio":
      return "[audio that cannot be heard here]";
    case "image":
      return "";
  }
}

function attribute(text: string): string {
  return text.replace(/["<>&\n]/g, encodeURIComponent);
}

/** The turn of a prompt that its sender has sent before, with the same key. Throws `key_reused` if it is a different prompt. */
function acceptedBefore({ journal, queue }: PromptDeps, { text, content, key }: PromptInput): Accepted | null {
  if (key === undefined) return null;
  const turn = journal.conversation.turns.slice(-limits.rememberedKeys).findLast((one) => one?.key === key);
  if (!turn) return null;
  if (turn.prompt.text !== text || JSON.stringify(turn.prompt.content) !== JSON.stringify(content))
    throw new SessionError("key_reused", "another prompt was sent with this key");
  const status = queue.waiting.includes(turn.number) ? "queued" : "running";
  return { turn: turn.number, messageId: `msg-${turn.number}`, status, durable: journal.durable() };
}

interface AcceptedPrompt {
  readonly prompt: Turn["prompt"];
  readonly input: PromptInput;
  readonly place: Attribution & { readonly turn: number };
}

async function runPrompt(deps: PromptDeps, accepted: AcceptedPrompt, signal: AbortSignal): Promise<void> {
  deps.journal.endInterrupted(deps.queue.busy());
  const command = await commandOf(deps, accepted.input);
  const answering = command && "agent" in command ? command.agent : null;
  const run = startTurn(deps, accepted, signal, answering === null);
  try {
    run.record({ type: "turn_start", metadata: { prompt: `msg-${run.number}` } });
    const turn = turnOf(deps, accepted, command);
    const consulting: Consulting = {
      policy: deps.policy,
      place: () => ({
        sessionId: deps.sessionId,
        turn: run.number,
        settings: deps.bound({ ...turn.settings, ...deps.settings() }, deps.workspace.cwd),
        workspace: deps.workspace,
      }),
      ask: (question) => deps.broker.ask(PERMISSION, question, accepted.place, run),
      record: run.record,
      approveEdits: deps.approveEdits,
    };
    const outcome = await runAgent(run, answering ?? boundAgent(deps), turn, {
      workspace: deps.workspace,
      signal,
      session: deps.memory,
      flags: deps.settings,
      question: (question) => deps.broker.ask(QUESTION, question, accepted.place, run),
      ask: (request) => consult(consulting, request),
    });
    await endTurn(run, outcome);
  } catch (error) {
    // The log failed before the turn was settled. Keep a snapshot of its changes to files all the same.
    await run.settle().catch(() => {});
    throw error;
  }
  await deps.journal.durable();
}

/** Ends a turn that failed before its last record. If the log cannot be written, the next write that succeeds ends it. */
async function recover({ journal, queue, onError }: PromptDeps, error: unknown): Promise<void> {
  onError(error);
  await journal.interrupted(error);
  try {
    journal.endInterrupted(queue.busy());
  } catch {
    // The journal keeps the cause.
  }
}

function startTurn(
  { journal, queue, broker, snapshots, workspace, onError }: PromptDeps,
  { place }: AcceptedPrompt,
  signal: AbortSignal,
  keepsFiles: boolean,
): TurnRun {
  const { recorder } = journal;
  if (keepsFiles) snapshots?.beginTurn(place.turn);
  /** If the snapshot fails, the turn cannot be undone, but it ends as usual. */
  const keepSnapshot = async (): Promise<void> => {
    try {
      await workspace.written();
      await snapshots?.endTurn(journal.conversation.reachable());
    } catch (error) {
      onError(error);
      const text = `the changes of this turn cannot be undone: ${error instanceof Error ? error.message : String(error)}`;
      recorder.write({ type: "notice", metadata: { level: "warning", text } }, place);
    }
  };
  const settle = async (): Promise<void> => {
    broker.release("cancel");
    try {
      // Deliver the answer before doing the work that ends the turn.
      await journal.written();
    } finally {
      // Also if the log cannot be written, because the files have changed anyway.
      if (keepsFiles) await keepSnapshot();
    }
  };
  let settling: Promise<void> | null = null;
  return {
    number: place.turn,
    signal,
    conversation: journal.conversation,
    get isOver() {
      return signal.aborted || settling !== null;
    },
    record: (event) => recorder.add(event, place),
    recordAll: (events) => recorder.writeAll(events, place),
    room: journal.room,
    // The recorder appends text at the end of the tick, and the store writes after that.
    shown: () => new Promise((resolve) => process.nextTick(setImmediate, resolve)),
    abort: queue.abort,
    settle() {
      settling ??= settle();
      return settling;
    },
  };
}

async function endTurn(run: TurnRun, { ending, isEnded, stopReason, opening }: AgentOutcome): Promise<void> {
  const { conversation } = run;
  const reason = ending.type === "cancelled" ? "cancelled" : "the tool did not finish";
  const unfinished = resultsForOpenCalls(conversation, reason);
  if (unfinished.length > 0) run.recordAll(unfinished);
  await run.settle();
  const title = conversation.facts.title === null && opening !== null ? titleFrom(opening) : null;
  const last: AgentEvent[] = [
    ...(title === null ? [] : [{ type: "title_changed", metadata: { title } } as const]),
    ...(isEnded ? [] : [{ type: "turn_end", metadata: { stop_reason: stopReason } } as const]),
    ending,
  ];
  run.recordAll(last);
}

function turnOf(deps: PromptDeps, { prompt, place }: AcceptedPrompt, command: ResolvedCommand | undefined): Turn {
  const { conversation } = deps.journal;
  const settings = {
    ...deps.settings(),
    mcpServers: deps.mcpServers(),
    spentUsd: conversation.facts.usage?.total_usd ?? 0,
  };
  return {
    sessionId: deps.sessionId,
    number: place.turn,
    prompt: command && "prompt" in command ? { ...prompt, text: command.prompt } : prompt,
    history: conversation.messages(place.turn),
    seen: conversation.seen(place.turn),
    settings,
    ...(command && "compact" in command && { compact: command.compact }),
  };
}

/** The agent with its settings narrowed to the limits of the project. If these limits cannot be read, the turn fails. */
function boundAgent({ agent, bound, workspace }: PromptDeps): Agent {
  return (turn, context) => agent({ ...turn, settings: bound(turn.settings, workspace.cwd) }, context);
}

/** The command of a prompt, if it is one. If finding it fails, an agent that fails with the same error. */
async function commandOf({ resolve }: PromptDeps, prompt: PromptInput): Promise<ResolvedCommand | undefined> {
  if (prompt.literal || !prompt.text.startsWith("/")) return undefined;
  try {
    return await resolve(prompt);
  } catch (error) {
    return {
      agent: () => {
        throw error;
      },
    };
  }
}
