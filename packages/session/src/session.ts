/**
 * One live session: the writer of its log, its queue of turns, its settings and its clients. Everything anyone sees
 * of it is read back from the log.
 */
import type { Decision, PromptBlock, ResolvedBy, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import type { Reader, SubscribeOptions, Subscription } from "@chimera/event-store";
import type { SessionSnapshots } from "@chimera/snapshot-store";
import type { Agent, McpServer } from "./agent-port.js";
import type { History } from "./history.js";
import type { OpenPermission } from "./permissions.js";
import type { FlagOption, Mode, Settings } from "./settings.js";
import type { RewindOptions, RewindReport } from "./undo.js";
import type { ClientEffects } from "./workspace.js";

/** idle: ready. running: a turn is in progress. cancelled: a cancel arrived and the turn is unwinding. */
export type SessionState = "idle" | "running" | "cancelled";

export interface PromptInput {
  readonly text: string;
  readonly content?: readonly PromptBlock[];
  /** Who sent it, when it was not the session's own client. */
  readonly origin?: string | undefined;
}

/** A prompt that has its place in the log. Its answer is read from the log: the last record of `turn`. */
export interface Accepted {
  readonly turn: number;
  readonly messageId: string;
  readonly status: "running" | "queued";
  /** Resolves when the prompt is on disk. */
  readonly durable: Promise<void>;
}

/** What a slash command turned out to be: a prompt for the agent, an answer in its place, or that it is to sum up. */
export type ResolvedCommand =
  | { readonly prompt: string }
  | { readonly agent: Agent }
  | { readonly compact: { readonly focus: string } };

/** A client that is connected to a session. */
export interface SessionClient {
  /** Asked for permissions. When the last one that approves leaves, what is open is denied. */
  readonly approves: boolean;
  /** Stands for somebody who may come, as over HTTP: nobody whose running turn must be kept when the session is idle too long. */
  readonly absent?: boolean;
  /** What it does in this machine's place. */
  readonly effects?: ClientEffects;
  /** The log could not be written: no record will tell of turns that are not in `busy`, so this does. */
  onTurnsLost?(error: unknown, busy: ReadonlySet<number>): void;
}

export interface Attachment {
  detach(): void;
}

export interface Session {
  readonly id: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly createdAt: number;
  readonly touchedAt: number;
  /** Milliseconds since anything happened, by a clock that never jumps. */
  readonly idleMs: number;
  readonly persistent: boolean;
  readonly state: SessionState;
  /** Whether a client is attached that is there itself. */
  readonly attended: boolean;
  readonly queued: number;
  readonly settings: Settings;
  readonly mode: Mode;
  readonly title: string | null;
  readonly lastSeq: number;
  readonly history: History;
  /** Permission requests nobody has answered yet, by id. */
  readonly openPermissions: ReadonlyMap<string, OpenPermission>;
  summary(): Summary;
  /** Throws `queue_full`, `session_closed`, or the storage error that keeps the log from being written. */
  prompt(input: PromptInput): Accepted;
  /** Ends the running turn only; queued prompts stay. False when nothing ran. */
  cancel(): boolean;
  /** Ends one turn, running or queued. False when it has ended. */
  cancelTurn(turn: number): boolean;
  answer(permissionId: string, decision: Decision, origin?: string): Promise<void>;
  setModel(model: string, origin?: string): void;
  setAgent(agent: string, origin?: string): void;
  setMode(mode: Mode, origin?: string): void;
  setFlag(option: FlagOption, value: boolean, origin?: string): void;
  setOption(id: string, value: string | boolean, origin?: string): void;
  /** The approval preset, kept among the options under that name. */
  setApproval(preset: string, origin?: string): void;
  /** One line; a blank one takes the title away. Throws `invalid_setting` for one that is too long. */
  setTitle(title: string, origin?: string): void;
  /** The servers a client hands over with new, load or resume. */
  useMcpServers(servers: readonly McpServer[]): void;
  /** Tells every client something that belongs to no turn. */
  notify(level: "info" | "warning" | "error", text: string): void;
  clear(origin?: string): void;
  /** Says where a fork came from; called once, by the code that made it. */
  markForked(from: string, at: number): void;
  undo(options?: RewindOptions): Promise<RewindReport>;
  redo(options?: RewindOptions): Promise<RewindReport>;
  /** Adds a client: one that approves is asked for permissions; effects take the disk's place for this session. */
  attach(client: SessionClient): Attachment;
  subscribe(options: SubscribeOptions, reader: Reader<SessionEvent>): Subscription;
  /** Resolves when everything up to `seq` is as safe as the store's durability promises. */
  durable(seq: number): Promise<void>;
  /** Counts as activity for the idle clock. */
  touch(): void;
  /** Resolves when nothing runs and nothing is queued. */
  idle(): Promise<void>;
  /** Cancels, denies what is open, drops the queue and releases the log. */
  close(by: Extract<ResolvedBy, "cancel" | "eviction">): Promise<void>;
  /** Resolves when the session has been closed, by whomever. */
  readonly ended: Promise<void>;
  /** What undo works from; null where files are not kept. */
  readonly snapshots: Pick<SessionSnapshots, "drop" | "list" | "edits"> | null;
}
