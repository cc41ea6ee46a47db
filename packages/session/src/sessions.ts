/** The sessions of a process for transports and programs, and everything that `createSessions` needs. */
import type { Agent, TurnSettings } from "@chimera/acp-schema/agent";
import type { Flags, JoinedRecord } from "@chimera/acp-schema/conversation";
import type { AgentEvent, Lost, SessionEvent } from "@chimera/acp-schema/events";
import type { Policy } from "@chimera/acp-schema/policy";
import type { Summary } from "@chimera/acp-schema/summary";
import type { EventStore, Holder, ListedSession, ListOptions } from "@chimera/event-store";
import type { RecoveryReport, SnapshotReading } from "@chimera/snapshot-store";
import type { SessionLogs } from "./logs.js";
import type { Elsewhere, Quota, Quotas } from "./quota.js";
import type { StoredSnapshots } from "./recover.js";
import type { Rewind } from "./rewind.js";
import type {
  AttachedClient,
  OwnedSession,
  PromptInput,
  ReadableSession,
  ResolvedCommand,
  Session,
  SessionClient,
} from "./session.js";
import type { OptionOrders, Settings } from "./settings.js";
import type { MakingRequest } from "./summary.js";
import type { Files } from "./workspace.js";

export interface CreateOptions {
  readonly cwd: string;
  readonly directories?: readonly string[];
  readonly settings?: Partial<Settings>;
  /** False keeps the log in memory. @defaultValue true */
  readonly persist?: boolean;
  /** True if its first prompt follows at once: if a limit would refuse the prompt, no session is made. @defaultValue false */
  readonly prompted?: boolean;
  /** The person who owns it. @defaultValue the program's own user */
  readonly owner?: string;
  /** Stored in the summary, so that the request is recognized if it is sent again. @defaultValue none */
  readonly request?: MakingRequest | undefined;
}

export interface ForkOptions extends Pick<CreateOptions, "owner" | "request"> {
  /** The fork ends with this turn. @defaultValue the last turn that ended */
  readonly turn?: number | undefined;
}

export interface Sessions {
  readonly prefix: string;
  readonly defaults: Settings;
  readonly logs: SessionLogs;
  create(options: CreateOptions): Promise<OwnedSession>;
  /** The session, loaded if necessary. Throws `session_not_found`, `session_claimed`. */
  load(id: string): Promise<OwnedSession>;
  /** Loads a session and reads its visible conversation up to `head`: without undone turns, with the deltas of a block joined. */
  loadVisible(id: string): Promise<LoadedVisible>;
  /** A loaded session. Does not count as activity. */
  find(id: string): OwnedSession | undefined;
  /** The loaded sessions, the last touched first. */
  live(): OwnedSession[];
  /** Stored sessions that had a prompt, the last touched first. Loaded ones with their current state. */
  list(options?: ListOptions<Summary>): Promise<{ sessions: ListedSummary[]; next: string | null }>;
  /** Stored sessions of every program, also without a prompt or torn down, the last made first. */
  listAll(options?: ListOptions<Summary>): Promise<{ sessions: ListedSummary[]; next: string | null }>;
  /** Copies the log up to the end of a turn (default: the last) into a new session. Resolves when the copy is durable. */
  fork(id: string, options?: ForkOptions): Promise<OwnedSession>;
  /** Cancels the session, resets flags and options, and unloads it. It can be loaded again. Throws `session_claimed`. */
  close(id: string): Promise<void>;
  /** Ends a session for good and deletes its snapshots. Its log stays, as a record of what happened. Throws `session_not_found`. */
  tearDown(id: string): Promise<void>;
  /** Recovers a session that a dead process left unfinished, and unloads it. Throws `session_claimed` if a live process has it. */
  settle(id: string): Promise<void>;
  /** Deletes a session with its log and its snapshots. */
  delete(id: string): Promise<void>;
  /** Reads a session from its log, also while another process has it. Throws `session_not_found`. */
  read(id: string): Promise<SessionReading>;
  /** Attaches a client to a session, loaded or not, until `detach`. */
  attach(id: string, client: SessionClient): { detach(): void };
  /** The clients that are attached to a session, loaded or not. */
  clients(id: string): AttachedClient[];
  /** The limits, and the current use by one person or by all together. */
  readonly quota: Pick<Quota, "use" | "requireStream" | "refusals"> & Quotas;
  /** Calls the listener with each session that is made, loaded or forked, until the returned function is called. */
  onLoad(listener: (session: OwnedSession) => void): () => void;
  /** Calls the listener with each session that was deleted or torn down, and its last summary, until the returned function is called. */
  onRemove(listener: (id: string, last: Summary | null) => void): () => void;
  /** Unloads sessions that have been idle for the time to live. Every operation above calls this, so no timer is needed. */
  evictIdle(): void;
  /** Refuses new turns and sessions over every transport, with `draining`. Accepted prompts still run. */
  drain(): void;
  isDraining(): boolean;
  /** Unloads every session, also those that are being made. From now on, making and loading throw `draining`. */
  shutdown(): Promise<void>;
}

/** The sessions that a connection reaches: those of this process and, if several nodes share a store, those of the others. */
export interface ReachableSessions extends Omit<Sessions, "load" | "loadVisible" | "find" | "live"> {
  load(id: string): Promise<Session>;
  loadVisible(id: string): Promise<LoadedVisible<Session>>;
  find(id: string): Session | undefined;
  live(): Session[];
  /** Whether this connection follows the session at another node. @defaultValue there are no other nodes */
  isAway?(id: string): boolean;
}

/** The state of a session that can be read without claiming it. */
export interface SessionReading
  extends Omit<ReadableSession, "touchedAt" | "state" | "queued" | "snapshots" | "summary"> {
  /** The settings it was made with that differ from the program's start settings. */
  readonly bounds?: Summary["bounds"];
  readonly snapshots: SnapshotReading | null;
}

export interface LoadedVisible<S extends Session = OwnedSession> {
  readonly session: S;
  /** The number of the last record in `visible`. */
  readonly head: number;
  readonly visible: AsyncIterable<JoinedRecord | Lost>;
}

export type ListedSummary = ListedSession<Summary>;

export interface CommandResolver {
  /** Undefined if the text is not a known command. Then the agent gets the text. */
  resolve(
    sessions: Sessions,
    session: Session,
    prompt: PromptInput,
    rewind: Rewind,
  ): Promise<ResolvedCommand | undefined>;
}

export interface SessionFiles {
  /** The bytes of everything that is stored for a session. 0 if it was deleted. */
  bytes(sessionId: string): Promise<number>;
  remove(sessionId: string): Promise<void>;
}

export interface SessionsDeps {
  readonly agent: Agent;
  readonly store: EventStore<SessionEvent, Summary>;
  /** The store of sessions with `persist: false`. @defaultValue memory */
  readonly ephemeral?: EventStore<SessionEvent, Summary>;
  /** @defaultValue none: undo then rewinds only the conversation */
  readonly snapshots?: StoredSnapshots | null;
  /** @defaultValue all files of this machine, without a check of paths. An agent that takes paths from a model should bring its own */
  readonly disk?: Files;
  /** The program's name: the prefix of its session ids. */
  readonly prefix: string;
  /** The start settings. `DEFAULT_SETTINGS` completes them. */
  readonly defaults: Pick<Settings, "model"> & Partial<Settings>;
  /** Completes or refuses every new session: created, forked, or made by a slash command. @defaultValue as requested */
  readonly admit?: (asked: CreateOptions) => Promise<CreateOptions>;
  /** Throws `forbidden_directory` if a session, new or stored, may not work in these directories. @defaultValue every directory is allowed */
  readonly requirePlace?: (directories: readonly string[]) => void;
  /** Narrows the settings of each turn to the limits of its project. @defaultValue no limits */
  readonly bound?: (settings: TurnSettings, cwd: string) => TurnSettings;
  /** The rules for calls that an engine describes. @defaultValue the session's mode decides */
  readonly policy?: Policy;
  /** The values of options, strictest first. A loaded session gets the stricter value of its log and the start settings. @defaultValue none */
  readonly orders?: OptionOrders;
  /** The approval flags of a new session in this directory. @defaultValue those of `defaults` */
  readonly flags?: (cwd: string) => Flags;
  /** Directories that every new session has in addition to its own. @defaultValue none */
  readonly directories?: readonly string[];
  /** Limits on the use by one person, and by all together. @defaultValue no limits */
  readonly quotas?: Quotas;
  /** How many sessions the other processes of a shared store have in memory, to count them too. @defaultValue only this process counts */
  readonly elsewhere?: Elsewhere;
  /** Measures the files of a session, and removes those besides its log and its snapshots. @defaultValue there are no other files */
  readonly files?: SessionFiles;
  /** Seconds of idleness after which a session is unloaded. Null or 0 keeps sessions loaded. @defaultValue 3600 */
  readonly ttl?: number | null;
  /** Seconds of idleness after which a loaded session lets go of its log, so that other processes may have it. 0: never. @defaultValue 0 */
  readonly hold?: number;
  /** How a person can join a session that another process has, as the end of a sentence. @defaultValue nothing */
  readonly howToJoin?: (holder: Holder) => Promise<string | null>;
  /** Seconds after which an unanswered permission request is denied. 0 sets no limit. @defaultValue 0 */
  readonly permissionTimeout?: number;
  /** Joins text deltas of one tick. @defaultValue true */
  readonly coalesce?: boolean;
  /** Slash commands. Without them every text goes to the agent. */
  readonly commands?: CommandResolver;
  readonly clock?: () => number;
  readonly monotonic?: () => number;
  /** Called after a session was unloaded: closed, evicted or deleted. Ends everything that was started for it. */
  readonly onUnload?: (sessionId: string) => Promise<void>;
  /** Called with the record of a setting that a client changed: `model_changed`, `mode_changed` and the like. */
  readonly onSetting?: (change: AgentEvent, sessionId: string) => void;
  /** Called after an undo that a crash interrupted was repaired, or could not be repaired. */
  readonly onRecovered?: (report: RecoveryReport) => void;
  readonly onError?: (error: unknown, sessionId: string) => void;
}
