/** One loaded session, by what its users need: a client watches it and sends commands, the program owns its life. */
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
  /** The sender's own name for it. While a session remembers the key, sending it again is answered with the same turn. */
  readonly key?: string | undefined;
  /** Who sent it, when it was not the session's own client. */
  readonly origin?: string | undefined;
  /** The text was not typed by a person (a template made it): the agent gets it unchanged, and it is never read as a slash command. */
  readonly literal?: boolean;
  /** The person who sent it: its commands see what that person may see. */
  readonly sender?: Person;
  /** Sent with this session's token alone: its commands keep to this session, and settings can only get stricter. */
  readonly isGuest?: boolean;
}

/** A prompt that has its place in the log. Its answer is read from the log: the last record of `turn`. */
export interface Accepted {
  readonly turn: number;
  readonly messageId: string;
  readonly status: "running" | "queued";
  /** Resolves when the prompt is durable. */
  readonly durable: Promise<void>;
}

/** What a slash command turned out to be: a prompt for the agent, an answer in its place, or a request to sum up. */
export type ResolvedCommand =
  | { readonly prompt: string }
  | { readonly agent: Agent }
  | { readonly compact: { readonly focus: string } };

/** A client that is connected to a session. */
export interface SessionClient {
  /** How it is connected: acp, terminal, bridge. @defaultValue program */
  readonly transport?: string;
  /** What it calls itself. */
  readonly name?: string | undefined;
  /** Asked for permissions. When the last one that approves leaves, unanswered requests are denied. */
  readonly approves: boolean;
  /** A placeholder, as for HTTP: it keeps permission requests unanswered, but does not keep an idle session loaded. */
  readonly absent?: boolean;
  /** What it does in this machine's place. */
  readonly effects?: ClientEffects;
  /** The MCP servers it hands over, as they are at the next turn. */
  mcpServers?(): readonly McpServer[];
  /** The log could not be written, so no record will tell of turns that are not in `busy`. */
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

/** A decision, or one of the question's own choices by its id; with why where it is a no. */
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
  /** Prompts that wait. */
  readonly queued: number;
  readonly settings: Settings;
  readonly mode: Mode;
  readonly title: string | null;
  /** The person who made it; null where the program's own user did. */
  readonly owner: string | null;
  /** Other people may read it. */
  readonly isShared: boolean;
  /** The number of the last record. */
  readonly lastSeq: number;
  /** The fold of its log. */
  readonly conversation: Conversation;
  readonly openPermissions: ReadonlyMap<string, OpenPermission>;
  readonly openQuestions: Conversation["openQuestions"];
  /** The files of turns that are not undone; null where files are not kept. */
  readonly snapshots: Pick<SessionSnapshots, "drop" | "list" | "edits"> | null;
  summary(): Summary;
}

/** What a client may do. Every promise resolves when what it acknowledges is durable. One that another node has takes a prompt later. */
export interface Session extends ReadableSession {
  /** Throws `queue_full`, `key_reused`, `session_closed`, or the storage error that keeps the log from being written. */
  prompt(input: PromptInput): Accepted | Promise<Accepted>;
  /**
   * Ends the running turn, or the one that is named, running or waiting. False when there is none, or it has ended. A prompt that waited
   * has its last record when this resolves; a turn that runs comes to its own within two seconds.
   */
  cancel(turn?: number): Promise<boolean>;
  /** @param shown the digest of what the person saw. Throws `not_as_shown` for another than the request's, `permission_not_found`, `already_resolved`. */
  answer(permissionId: string, answer: Reply, origin?: string, shown?: string): Promise<void>;
  /** Null: the person does not want to answer. Throws `question_not_found`, `already_resolved`. */
  answerQuestion(questionId: string, answer: string | null, origin?: string): Promise<void>;
  /** Several changes are made together, or none of them. Throws `invalid_setting`. */
  set(changes: SettingChange | readonly SettingChange[], origin?: string): Promise<void>;
  /** One line; a blank one takes the title away. Throws `invalid_setting` for one that is too long. */
  setTitle(title: string, origin?: string): Promise<void>;
  /** Lets other people read it, or no longer. */
  share(isShared: boolean, origin?: string): Promise<void>;
  /** Shows every client something that belongs to no turn. */
  notify(level: "info" | "warning" | "error", text: string): Promise<void>;
  clear(origin?: string): Promise<void>;
  undo(options?: RewindOptions): Promise<RewindReport>;
  redo(options?: RewindOptions): Promise<RewindReport>;
  /** Resolves when everything up to `seq` is as safe as the store's durability promises. */
  durable(seq: number): Promise<void>;
  /** Resolves when nothing runs and nothing is queued. */
  idle(): Promise<void>;
}

/** What the program that holds the sessions may do besides. */
export interface OwnedSession extends Session {
  prompt(input: PromptInput): Accepted;
  /** The caller it was opened for may read it and nothing else. */
  readonly isReadOnly: boolean;
  /** Tells its log from another that takes its place. */
  origin(): string;
  /** What it was made with, under what its log says was changed. */
  readonly made: Settings;
  /** Milliseconds since anything happened, by a clock that never jumps. */
  readonly idleMs: number;
  /** Whether a client is really connected, and not only a placeholder attached. */
  readonly attended: boolean;
  /** Counts as activity for the idle clock. */
  touch(): void;
  /** Records something that belongs to no turn. */
  record(event: AgentEvent, origin?: string): Promise<void>;
  /** Cancels, denies unanswered requests, drops the queue and releases the log. `reset` takes settings back to how it was made. */
  close(by: Extract<ResolvedBy, "cancel" | "eviction">, options?: { readonly reset: boolean }): Promise<void>;
  /** Its log was let go: another process may write it by now. */
  readonly isLetGo: boolean;
  /** Lets other processes have its log until it is taken up again; it takes no prompt meanwhile. False: a prompt came first. */
  letGo(): Promise<boolean>;
  /** Continues where it was, with a new writer of the log. False: the log is another by now, or goes on. */
  takeUp(writer: LogWriter<SessionEvent>): boolean;
  /** Resolves when the session has been closed. */
  readonly ended: Promise<void>;
}
