/** The sessions of a process, as transports and programs see them, and what they are made from. */
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
  /** Its first prompt follows at once: where that would be refused, no session is made. @defaultValue false */
  readonly prompted?: boolean;
  /** The person it is made for. @defaultValue nobody: it is the program's own user's */
  readonly owner?: string;
  /** Its summary says it. @defaultValue nobody sends that request again */
  readonly request?: MakingRequest | undefined;
}

export interface ForkOptions extends Pick<CreateOptions, "owner" | "request"> {
  /** @defaultValue the last that ended */
  readonly turn?: number | undefined;
}

export interface Sessions {
  readonly prefix: string;
  readonly defaults: Settings;
  readonly logs: SessionLogs;
  create(options: CreateOptions): Promise<OwnedSession>;
  /** The loaded session, or the stored one, loaded. `session_not_found`, `session_claimed`. */
  load(id: string): Promise<OwnedSession>;
  /** The same, with its visible conversation up to `head`: undone turns left out, the deltas of a block joined. */
  loadVisible(id: string): Promise<LoadedVisible>;
  /** A loaded session, without touching it. */
  find(id: string): OwnedSession | undefined;
  /** Loaded sessions, newest touched first. */
  live(): OwnedSession[];
  /** Stored sessions that had a prompt, newest touched first; those in memory as they are now. */
  list(options?: ListOptions<Summary>): Promise<{ sessions: ListedSummary[]; next: string | null }>;
  /** The same of every program, also those without a prompt and those that were torn down, newest made first. */
  listAll(options?: ListOptions<Summary>): Promise<{ sessions: ListedSummary[]; next: string | null }>;
  /** Copies the log up to the end of a turn (default: the last) into a new session. Resolves when the copy is durable. */
  fork(id: string, options?: ForkOptions): Promise<OwnedSession>;
  /** Cancels, takes flags and options back to how it was made, unloads; the session stays loadable. `session_claimed`. */
  close(id: string): Promise<void>;
  /** Ends a session for good and forgets its snapshots; its log stays, as a record of what happened. `session_not_found`. */
  tearDown(id: string): Promise<void>;
  /** Ends what a process that died left of a session, and lets go of it. For a session that another process may have: `session_claimed`. */
  settle(id: string): Promise<void>;
  /** The log and the snapshots too. */
  delete(id: string): Promise<void>;
  /** What a session is by its log, though another process may hold it. `session_not_found`. */
  read(id: string): Promise<SessionReading>;
  /** Adds a client to a session, for as long as it stays, loaded or not. */
  attach(id: string, client: SessionClient): { detach(): void };
  /** The clients that are attached to a session, loaded or not. */
  clients(id: string): AttachedClient[];
  /** What one person uses, or all together, and how much they may. */
  readonly quota: Pick<Quota, "use" | "requireStream" | "refusals"> & Quotas;
  /** Calls the listener with each session that is loaded from now on: made, loaded or forked; the function returned ends that. */
  onLoad(listener: (session: OwnedSession) => void): () => void;
  /** Calls the listener with each session that was deleted or torn down, and its last summary; the function returned ends that. */
  onRemove(listener: (id: string, last: Summary | null) => void): () => void;
  /** Unloads what has been idle for the time to live. Called by every operation above; no sweeper needed. */
  evictIdle(): void;
  /** From now on no turn and no session begins, whatever carries the prompt: `draining`. What was accepted goes on. */
  drain(): void;
  isDraining(): boolean;
  /** Unloads every session, also one that is just being made. From now on none is made or loaded: `draining`. */
  shutdown(): Promise<void>;
}

/** The sessions that a connection reaches: those of this process and, where several nodes share a store, those of the others. */
export interface ReachableSessions extends Omit<Sessions, "load" | "loadVisible" | "find" | "live"> {
  load(id: string): Promise<Session>;
  loadVisible(id: string): Promise<LoadedVisible<Session>>;
  find(id: string): Session | undefined;
  live(): Session[];
  /** Whether another node has the session, as far as this connection knows. @defaultValue there are no other nodes */
  isAway?(id: string): boolean;
}

/** What can be read of a session without claiming it. */
export interface SessionReading
  extends Omit<ReadableSession, "touchedAt" | "state" | "queued" | "snapshots" | "summary"> {
  /** What it was made with. */
  readonly bounds?: Summary["bounds"];
  readonly snapshots: SnapshotReading | null;
}

export interface LoadedVisible<S extends Session = OwnedSession> {
  readonly session: S;
  /** The number of the last record it shows. */
  readonly head: number;
  readonly visible: AsyncIterable<JoinedRecord | Lost>;
}

export type ListedSummary = ListedSession<Summary>;

export interface CommandResolver {
  /** Undefined when the text is not a known command: the agent then gets it as it is. */
  resolve(
    sessions: Sessions,
    session: Session,
    prompt: PromptInput,
    rewind: Rewind,
  ): Promise<ResolvedCommand | undefined>;
}

export interface SessionFiles {
  /** Of everything that is kept for a session; 0 for one that is gone. */
  bytes(sessionId: string): Promise<number>;
  remove(sessionId: string): Promise<void>;
}

export interface SessionsDeps {
  readonly agent: Agent;
  readonly store: EventStore<SessionEvent, Summary>;
  /** Where sessions with `persist: false` live. @defaultValue memory */
  readonly ephemeral?: EventStore<SessionEvent, Summary>;
  /** @defaultValue none: undo then rewinds the conversation alone */
  readonly snapshots?: StoredSnapshots | null;
  /** @defaultValue this machine's files, unguarded: an agent that takes paths from a model brings its own */
  readonly disk?: Files;
  /** The program's name: the prefix of its session ids. */
  readonly prefix: string;
  /** Completed by `DEFAULT_SETTINGS`. */
  readonly defaults: Pick<Settings, "model"> & Partial<Settings>;
  /** Completes or refuses every new session, however it is made: created, forked, or by a command. @defaultValue as asked */
  readonly admit?: (asked: CreateOptions) => Promise<CreateOptions>;
  /** Throws `forbidden_directory` for a session that may not work there, new or stored. @defaultValue every directory will do */
  readonly requirePlace?: (directories: readonly string[]) => void;
  /** Holds each turn to the limits of its project. @defaultValue none */
  readonly bound?: (settings: TurnSettings, cwd: string) => TurnSettings;
  /** The rules that calls are held to which an engine describes. @defaultValue what the session's mode says */
  readonly policy?: Policy;
  /** The values of options from the strictest on: a loaded session keeps the stricter of log and start. @defaultValue none */
  readonly orders?: OptionOrders;
  /** The approval flags that a session in this directory starts with. @defaultValue those of `defaults` */
  readonly flags?: (cwd: string) => Flags;
  /** Directories that every new session has besides its own. @defaultValue none */
  readonly directories?: readonly string[];
  /** How much one person may use, and all of them. @defaultValue as much as they like */
  readonly quotas?: Quotas;
  /** How many sessions other processes of a shared store have in memory: limits count them too. @defaultValue only this process counts */
  readonly elsewhere?: Elsewhere;
  /** What sessions have on disk: how much it is, and what goes with a session besides its log and its snapshots. @defaultValue nothing */
  readonly files?: SessionFiles;
  /** Seconds; null or 0 keeps sessions loaded. @defaultValue 3600 */
  readonly ttl?: number | null;
  /** Seconds of idleness after which other processes may have a session that stays loaded here; 0 keeps it. @defaultValue 0 */
  readonly hold?: number;
  /** Says how a person can join a session that another process has, as the end of a sentence. @defaultValue nothing */
  readonly howToJoin?: (holder: Holder) => Promise<string | null>;
  /** Seconds after which a permission that nobody answered is denied; 0 sets no limit. @defaultValue 0 */
  readonly permissionTimeout?: number;
  /** Joins text deltas of one tick. @defaultValue true */
  readonly coalesce?: boolean;
  /** Slash commands; without it every text goes to the agent. */
  readonly commands?: CommandResolver;
  readonly clock?: () => number;
  readonly monotonic?: () => number;
  /** Called when a session was unloaded: closed, evicted or deleted. What was started for it ends here. */
  readonly onUnload?: (sessionId: string) => Promise<void>;
  /** Called with the record of a setting that a client changed: `model_changed`, `mode_changed` and the like. */
  readonly onSetting?: (change: AgentEvent, sessionId: string) => void;
  /** Called with an undo that a crash interrupted, once it is repaired or could not be. */
  readonly onRecovered?: (report: RecoveryReport) => void;
  readonly onError?: (error: unknown, sessionId: string) => void;
}
