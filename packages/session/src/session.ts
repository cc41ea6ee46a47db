/** One loaded session: a client reads it and sends commands, the program that holds it also loads and closes it. */
import type { Agent, McpServer } from "@chimera/acp-schema/agent";
import type { Conversation, Mode } from "@chimera/acp-schema/conversation";
import type { AgentEvent, Decision, Metadata, PromptBlock, ResolvedBy, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import type { LogWriter } from "@chimera/event-store";
import type { SessionSnapshots } from "@chimera/snapshot-store";
import type { Person } from "./person.js";
import type { RewindOptions, RewindReport } from "./rewind.js";
import type { SettingChange, Settings } from "./settings.js";
import type { ClientEffects } from "./workspace.js";

/** idle: ready. running: a turn is in progress. cancelled: a cancel arrived and the turn is unwinding. */
export type SessionState = "idle" | "running" | "cancelled";

export interface PromptInput {
  readonly text: string;
  readonly content?: readonly PromptBlock[];
  /** The sender's own name for the prompt. While the session remembers it, a prompt with the same key gets the same turn. */
  readonly key?: string | undefined;
  /** The client that sent it, if it was not the session's own client. */
  readonly origin?: string | undefined;
  /** True if a template made the text: the agent gets it unchanged, and it is never read as a slash command. */
  readonly literal?: boolean;
  /** The person who sent it. Its slash commands see what this person may see. */
  readonly sender?: Person;
  /** True if it was sent with only this session's token: its slash commands reach only this session and can only narrow settings. */
  readonly isGuest?: boolean;
}

/** An accepted prompt. Its answer is in the log, as the last record of `turn`. */
export interface Accepted {
  readonly turn: number;
  readonly messageId: string;
  readonly status: "running" | "queued";
  /** Resolves when the prompt is durable. */
  readonly durable: Promise<void>;
}

/** The effect of a slash command: a prompt for the agent, an agent that answers instead, or a request to compact. */
export type ResolvedCommand =
  | { readonly prompt: string }
  | { readonly agent: Agent }
  | { readonly compact: { readonly focus: string } };

/** A client of a session. */
export interface SessionClient {
  /** How it is connected: acp, terminal, bridge. @defaultValue program */
  readonly transport?: string;
  /** The name that it gives itself. */
  readonly name?: string | undefined;
  /** Whether it is asked for permissions. When the last client that approves leaves, unanswered requests are denied. */
  readonly approves: boolean;
  /** A placeholder, as for HTTP: permission requests wait as for a real client, but an idle session is unloaded. */
  readonly absent?: boolean;
  /** The files and the terminal that it lends, in place of this machine's. */
  readonly effects?: ClientEffects;
  /** The MCP servers that it lends. Read at the start of each turn. */
  mcpServers?(): readonly McpServer[];
  /** Called when the log could not be written: turns that are not in `busy` are lost and will have no record. */
  onTurnsLost?(error: unknown, busy: ReadonlySet<number>): void;
}

/** A client as others see it. */
export interface AttachedClient {
  readonly transport: string;
  readonly name: string | null;
  readonly approves: boolean;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** The answer to a permission request: a decision, or the id of one of its own choices. `reason` says why it was denied. */
export type Reply =
  | Decision
  | { readonly decision: Decision; readonly reason?: string | undefined }
  | { readonly choice: string; readonly reason?: string | undefined };

export type OpenPermission = Metadata<"permission_request">;

/** The state of a session. */
export interface ReadableSession {
  readonly id: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly createdAt: number;
  readonly touchedAt: number;
  readonly persistent: boolean;
  readonly state: SessionState;
  /** The number of prompts that wait. */
  readonly queued: number;
  readonly settings: Settings;
  readonly mode: Mode;
  readonly title: string | null;
  /** The person who made it. Null if the program's own user did. */
  readonly owner: string | null;
  /** Other people may read it. */
  readonly isShared: boolean;
  /** The number of the last record. */
  readonly lastSeq: number;
  /** The fold of its log. */
  readonly conversation: Conversation;
  readonly openPermissions: ReadonlyMap<string, OpenPermission>;
  readonly openQuestions: Conversation["openQuestions"];
  /** The file snapshots of the turns that are not undone. Null if the program keeps no snapshots. */
  readonly snapshots: Pick<SessionSnapshots, "drop" | "list" | "edits"> | null;
  summary(): Summary;
}

/** The commands of a client. Every promise resolves when the records of the command are durable. */
export interface Session extends ReadableSession {
  /** A promise if another node has the session. Throws `queue_full`, `key_reused`, `session_closed`, or the error of a log that cannot be written. */
  prompt(input: PromptInput): Accepted | Promise<Accepted>;
  /**
   * Cancels the running turn, or the given turn whether it runs or waits. False if there is no such turn or it has ended. A waiting prompt
   * has its last record when this resolves. A running turn gets its last record within two seconds.
   */
  cancel(turn?: number): Promise<boolean>;
  /** @param shown the digest of what the person saw. Throws `not_as_shown` if the request has another, `permission_not_found`, `already_resolved`. */
  answer(permissionId: string, answer: Reply, origin?: string, shown?: string): Promise<void>;
  /** Answers a question. Null if the person does not want to answer. Throws `question_not_found`, `already_resolved`. */
  answerQuestion(questionId: string, answer: string | null, origin?: string): Promise<void>;
  /** Changes settings. Several changes are made together or not at all. Throws `invalid_setting`. */
  set(changes: SettingChange | readonly SettingChange[], origin?: string): Promise<void>;
  /** Sets the title, on one line. A blank title removes it. Throws `invalid_setting` if it is too long. */
  setTitle(title: string, origin?: string): Promise<void>;
  /** Allows or forbids other people to read the session. */
  share(isShared: boolean, origin?: string): Promise<void>;
  /** Shows a message outside of turns to every client. */
  notify(level: "info" | "warning" | "error", text: string): Promise<void>;
  clear(origin?: string): Promise<void>;
  undo(options?: RewindOptions): Promise<RewindReport>;
  redo(options?: RewindOptions): Promise<RewindReport>;
  /** Resolves when everything up to `seq` is as safe as the store's durability promises. */
  durable(seq: number): Promise<void>;
  /** Resolves when nothing runs and nothing is queued. */
  idle(): Promise<void>;
}

/** A session for the program that holds it, with methods that clients do not have. */
export interface OwnedSession extends Session {
  prompt(input: PromptInput): Accepted;
  /** True if the person for whom it was opened may only read it. */
  readonly isReadOnly: boolean;
  /** A mark of its log: another log in its place has another mark. */
  origin(): string;
  /** The settings it was made with, without the changes in its log. */
  readonly made: Settings;
  /** Milliseconds since the last activity, by a monotonic clock. */
  readonly idleMs: number;
  /** Whether a client is really connected, and not only a placeholder attached. */
  readonly attended: boolean;
  /** Counts as activity for the idle clock. */
  touch(): void;
  /** Records an event outside of turns. */
  record(event: AgentEvent, origin?: string): Promise<void>;
  /** Cancels, denies unanswered requests, drops the queue and releases the log. `reset` sets the settings back to those it was made with. */
  close(by: Extract<ResolvedBy, "cancel" | "eviction">, options?: { readonly reset: boolean }): Promise<void>;
  /** True if its log was let go, so that another process may write it. */
  readonly isLetGo: boolean;
  /** Lets other processes have its log until it is taken up again. It accepts no prompt meanwhile. False if a prompt came first. */
  letGo(): Promise<boolean>;
  /** Continues with a new writer of its log. False if the log was replaced or has new records. */
  takeUp(writer: LogWriter<SessionEvent>): boolean;
  /** Resolves when the session has been closed. */
  readonly ended: Promise<void>;
}
