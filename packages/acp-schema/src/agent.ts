/** `@chimera/acp-schema/agent`, the agent port: an agent is a function that takes a turn and yields agent events. */
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
  /** The number of the turn, counted from 0. */
  readonly number: number;
  readonly prompt: { readonly text: string; readonly content?: readonly PromptBlock[] };
  /** The visible conversation before this prompt, without undone turns and with deltas joined. */
  readonly history: readonly Message[];
  /** The numbers of the turns in `history`, each of which has one prompt there. They show an agent that the past has changed. */
  readonly seen: readonly number[];
  readonly settings: TurnSettings;
  /** Set when the turn must shorten the history: the agent yields a `compaction`, or answers the prompt if it does not support that. */
  readonly compact?: { readonly focus: string };
}

export interface TurnSettings extends Flags {
  readonly model: string;
  /** The agent definition in use: build, plan, explore, review, general or one from a file. */
  readonly agent: string;
  /** How many requests to the model a turn may make. Null: no limit, but the agent asks now and then whether to continue. */
  readonly maxSteps: number | null;
  readonly maxCostUsd: number | null;
  /** The cost of the session before this turn. */
  readonly spentUsd: number;
  readonly allowedTools: readonly string[] | null;
  readonly mcpServers: readonly McpServer[];
  /** The settings that a program's extensions added, by option id, such as an approval preset. */
  readonly options: Readonly<Record<string, string | boolean>>;
}

/** An MCP server from a client. Its environment and headers are never logged. */
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
  /** Asks the attached clients. Answers `deny` without an approver and after a time-out, a cancel or a close. Never throws. */
  readonly ask: Ask;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
  /** The flags at the time of the call, which say what may run without asking. */
  readonly flags: () => Flags;
  /** Ends the turn with an error that no caller awaits, such as that of a child process that died. */
  readonly fail: (error: Error) => void;
  readonly session: EngineMemory;
  /** Asks the attached clients a question that is not about permission. Never throws. Absent if no client could answer. */
  readonly question?: (question: Question) => Promise<QuestionAnswer>;
}

export interface Question {
  readonly call_id: string;
  readonly question: string;
  /** Suggested answers. Other answers are possible too. */
  readonly options: readonly { readonly name: string; readonly description?: string }[];
}

export interface QuestionAnswer {
  /** Null if there is no answer. */
  readonly answer: string | null;
  readonly by: ResolvedBy;
}

/** The engine's storage in a session beyond a turn. It is one object from the loading of the session to its unloading. */
export interface EngineMemory {
  /** The last remembered state, also from before a restart; null if there is none. */
  recall(): Json | null;
  /** Records up to 64 KiB of JSON, which no client sees. Resolves when it is durable. */
  remember(state: Json): Promise<void>;
  /** Records an event, also between turns. */
  emit(event: AgentEvent): void;
}

/**
 * An engine describes each call and asks before it runs the call. The session's rules answer, or a person if the rules say so.
 * Before it asks, the engine must have yielded the `tool_call` of `call_id`, and the session must have taken it.
 */
export type Ask = (request: AskRequest) => Promise<Answer>;

export interface AskRequest {
  readonly call_id: string;
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly risk: Risk;
  readonly options?: readonly Decision[];
  /** The changes that the call would make, if they are known before it runs. A function is called only when a person is asked. */
  readonly content?: readonly ToolContent[] | (() => Promise<readonly ToolContent[]>);
  /** The call's description for rules. Without it no rule matches, and a person is asked. */
  readonly call?: {
    readonly kind: ToolKind;
    readonly touches: Touches;
    /** The tool's names in rules; answers are remembered by the first. @defaultValue only `tool` */
    readonly names?: readonly string[];
    /** The agent definition of the task that makes the call. Its permissions apply too. */
    readonly agent?: string;
  };
  /** Whether the engine has already run the call without asking. The call is then only recorded, and no one is asked. */
  readonly unasked?: boolean;
  /** The engine's own options for the answer, one of which it may name. */
  readonly choices?: readonly PermissionChoice[];
}

export interface Answer {
  readonly decision: Decision;
  readonly by: ResolvedBy;
  /** The name of the person who answered, if they have one. */
  readonly person?: string;
  readonly choice?: string;
  /** The person's reason for a no. */
  readonly reason?: string;
  /** The rule's reason for its decision. */
  readonly why?: string;
  /** Whether a sandbox forbids the call, which is then recorded. */
  readonly isViolation?: boolean;
}

/** The paths and the command of a call. Paths are absolute, with symbolic links resolved. */
export interface Touches {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly command?: string;
  /** Whether a POSIX shell parses the command line, so that another line with the same words means the same. */
  readonly isShell?: boolean;
}

/** The files and shell of a session. An editor's buffers and terminals can replace the disk and the shell. Undo learns of each write. */
export interface Workspace {
  /** An absolute path. */
  readonly cwd: string;
  readonly directories: readonly string[];
  readText(path: string): Promise<string>;
  writeText(path: string, text: string): Promise<void>;
  /** Called before the first write of a path in a turn. Captures the file for undo. */
  willWrite(path: string): Promise<void>;
  /**
   * Called before a command that may write. The returned function is called after it and finds the changes. If people may work in the
   * same directory meanwhile, `mine` says which changes are the command's; the function then resolves with the paths of the others.
   */
  willRun(command: string, options?: { readonly mine?: IsMine }): Promise<() => Promise<readonly string[]>>;
  /** The client's terminal, if it offers one. */
  readonly terminal?: ClientTerminal;
}

/** Whether a command made a change. `changedAt` is null for a deleted file. */
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
