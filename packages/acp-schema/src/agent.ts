/** `@chimera/acp-schema/agent`, the agent port: whatever takes a turn and yields agent events is an agent. */
import type { Message } from "./events/message.js";
import type { Flags } from "./events/modes.js";
import type { AgentEvent } from "./events/record.js";
import type {
  Decision,
  Json,
  PermissionChoice,
  PromptBlock,
  ResolvedBy,
  Risk,
  ToolContent,
  ToolKind,
} from "./events/value.js";

export type { AgentEvent } from "./events/record.js";

/**
 * @example
 * const echo: Agent = async function* (turn) {
 *   yield { type: "text_delta", metadata: { text: `You said: ${turn.prompt.text}` } };
 * };
 */
export type Agent = (turn: Turn, context: AgentContext) => AsyncIterable<AgentEvent>;

/** Everything an agent needs to know about the turn it runs. */
export interface Turn {
  readonly sessionId: string;
  /** 0-based. */
  readonly number: number;
  readonly prompt: { readonly text: string; readonly content?: readonly PromptBlock[] };
  /** The visible conversation before this prompt: undone turns left out, deltas joined. */
  readonly history: readonly Message[];
  /** The numbers of the turns in `history`, each of which has one prompt there: an agent sees from them that the past changed. */
  readonly seen: readonly number[];
  readonly settings: TurnSettings;
  /** The turn makes the history smaller: the agent yields a `compaction`, or answers the prompt if it knows none. */
  readonly compact?: { readonly focus: string };
}

export interface TurnSettings extends Flags {
  readonly model: string;
  /** The agent definition in use: build, plan, explore, review, general or a file's. */
  readonly agent: string;
  /** Requests to the model in a turn; null: no limit, but a question now and then. */
  readonly maxSteps: number | null;
  readonly maxCostUsd: number | null;
  /** What the session has cost before this turn. */
  readonly spentUsd: number;
  readonly allowedTools: readonly string[] | null;
  readonly mcpServers: readonly McpServer[];
  /** What a program's extensions added, by option id: an approval preset, for one. */
  readonly options: Readonly<Record<string, string | boolean>>;
}

/** An MCP server handed over by a client; its environment and headers never reach the log. */
export type McpServer =
  | {
      readonly type: "stdio";
      readonly name: string;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }
  | {
      readonly type: "http" | "sse";
      readonly name: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

export interface AgentContext {
  /** Asks the attached clients. No approver, a time-out, a cancel or a close answers `deny`; it never throws. */
  readonly ask: Ask;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
  /** What may be done without asking, as it stands at each call. */
  readonly flags: () => Flags;
  /** Ends the turn with an error, from wherever it is found: a promise that nobody awaits, a child that died. */
  readonly fail: (error: Error) => void;
  readonly session: EngineMemory;
  /** Asks the people a question that is not about a call; it never throws. Absent where nobody could answer. */
  readonly question?: (question: Question) => Promise<QuestionAnswer>;
}

export interface Question {
  readonly call_id: string;
  readonly question: string;
  /** To choose from; other answers stay possible. */
  readonly options: readonly { readonly name: string; readonly description?: string }[];
}

export interface QuestionAnswer {
  /** Null where there is none. */
  readonly answer: string | null;
  readonly by: ResolvedBy;
}

/** What an engine keeps in a session beyond a turn: one object from the session's loading to its unloading. */
export interface EngineMemory {
  /** What was remembered last, before a restart too; null when nothing was. */
  recall(): Json | null;
  /** Puts up to 64 KiB of JSON on record, where no client sees it. Resolves when it is durable. */
  remember(state: Json): Promise<void>;
  /** Records an event, also between turns. */
  emit(event: AgentEvent): void;
}

/**
 * An engine describes each call, and asks before it runs it: the session's rules answer, or a person where the rules leave it to one.
 * The engine must have yielded the `tool_call` of `call_id`, and seen it taken, before it asks.
 */
export type Ask = (request: AskRequest) => Promise<Answer>;

export interface AskRequest {
  readonly call_id: string;
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly risk: Risk;
  readonly options?: readonly Decision[];
  /** What the call would change, where that can be said before it runs; a function is called when a person is asked. */
  readonly content?: readonly ToolContent[] | (() => Promise<readonly ToolContent[]>);
  /** The call as rules know it. Without it no rule is about the call, and a person is asked. */
  readonly call?: {
    readonly kind: ToolKind;
    readonly touches: Touches;
    /** What rules call the tool, the name that answers are remembered by first. @defaultValue `tool` alone */
    readonly names?: readonly string[];
    /** The agent definition of a task that makes the call: what binds it holds too. */
    readonly agent?: string;
  };
  /** It has run already, without a question: it is only written down, and nobody is asked. */
  readonly unasked?: boolean;
  /** Answers in the engine's own words, one of which the answer may name. */
  readonly choices?: readonly PermissionChoice[];
}

export interface Answer {
  readonly decision: Decision;
  readonly by: ResolvedBy;
  /** The person who answered, where it was one with a name. */
  readonly person?: string;
  readonly choice?: string;
  /** Why a person said no. */
  readonly reason?: string;
  /** Why a rule decided as it did. */
  readonly why?: string;
  /** A sandbox stands in the way, and the log says so. */
  readonly isViolation?: boolean;
}

/** Real absolute paths (no symbolic link left in them), and the command line where there is one. */
export interface Touches {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly command?: string;
  /** Whether a POSIX shell reads the command line, so that another line with the same words does the same. */
  readonly isShell?: boolean;
}

/** The files and shell of a session. Editors' buffers and terminals can take the disk's place; undo hears of each write. */
export interface Workspace {
  /** Absolute. */
  readonly cwd: string;
  readonly directories: readonly string[];
  readText(path: string): Promise<string>;
  writeText(path: string, text: string): Promise<void>;
  /** Called before the first write of a path in a turn: captures what was there. */
  willWrite(path: string): Promise<void>;
  /**
   * Called before a command that may write; the returned function is called after it, and finds what changed. Where people may work in
   * the same directory meanwhile, `mine` tells the command's changes from theirs; the function then resolves to the paths left to them.
   */
  willRun(command: string, options?: { readonly mine?: IsMine }): Promise<() => Promise<readonly string[]>>;
  /** A terminal the client owns, when it offered one. */
  readonly terminal?: ClientTerminal;
}

/** Whether a command made a change; `changedAt` is null for what is gone. */
export type IsMine = (path: string, changedAt: number | null) => boolean;

export interface ClientTerminal {
  run(request: {
    readonly command: string;
    readonly args?: readonly string[];
    readonly cwd?: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    /** Called as soon as the terminal exists, so that the call can show it. */
    onStart(terminalId: string): void;
  }): Promise<{
    readonly output: string;
    readonly truncated: boolean;
    readonly exitCode: number | null;
    readonly signal: string | null;
    readonly timedOut: boolean;
  }>;
}
