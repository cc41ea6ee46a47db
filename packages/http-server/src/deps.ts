/** Everything that an app needs: plain functions and data, so that any program can mount it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { EnginesReply, ModelsReply, ProvidersReply, ToolsReply } from "@chimera/acp-schema/http";
import type { LineChannel } from "@chimera/ndjson-rpc";
import type { Person, Session, Sessions, SettingChange, SlashPalette } from "@chimera/session";
import type { AskNode } from "@chimera/session/anywhere";
import type { IsOwnUser } from "./auth/peer.js";
import type { TokenHashes } from "./auth/token.js";

export interface AppDeps {
  /** The program's name: otter, ferret. */
  readonly name: string;
  readonly version: string;
  /** The description in the manifest of the agent with that name. @defaultValue a sentence made of the name */
  readonly agentDescription?: string;
  /** The sessions to serve. They decide how long idle sessions stay loaded and where logs are kept. */
  readonly sessions: Sessions;
  /** Serves ACP at `/acp`. @defaultValue `/acp` answers 404 */
  readonly acp?: ServeAcp;
  /** The other nodes of a shared store. @defaultValue none: requests for a session of another process are refused */
  readonly peers?: Peers;
  /** Custom slash commands. @defaultValue none */
  readonly palette?: Pick<SlashPalette, "custom"> & Partial<Pick<SlashPalette, "commands">>;
  /** The directory of a session whose request names none. Its custom commands are the ones that are listed and invoked. */
  readonly defaultCwd: string;
  /** The master token. Without it, every caller that passes the Host and Origin checks and `isOwnUser` is the master. */
  readonly authToken?: string;
  /** People with tokens of their own, and a proxy that names them. @defaultValue none */
  readonly people?: People;
  /** Whether the peer of a connection may call without a token. Made by `createOwnUserCheck`. @defaultValue every peer may */
  readonly isOwnUser?: IsOwnUser;
  /** Reads the files of the page at the first request for one. @defaultValue there is no page, and a browser's Origin must be one of `cors` */
  readonly page?: () => Promise<readonly PageFile[]>;
  /** A code with which one page may sign in. `POST /page/codes` makes further codes. @defaultValue none */
  readonly pageCode?: string;
  /** Browser origins that may call, exactly as a browser writes them. @defaultValue none */
  readonly cors?: readonly string[];
  /** The hosts, without a port, that a Host header may name besides loopback. @defaultValue none */
  readonly hosts?: readonly string[];
  /** The agent definitions that a run in this directory may name. */
  readonly agents?: (
    cwd: string,
  ) => Promise<readonly { readonly id: string; readonly description?: string | undefined }[]>;
  readonly tools?: () => ToolsReply["tools"] | Promise<ToolsReply["tools"]>;
  readonly providers?: () => ProvidersReply;
  readonly models?: () => ModelsReply["models"] | Promise<ModelsReply["models"]>;
  /** The programs that can run a session's turns. @defaultValue an empty list */
  readonly engines?: () => EnginesReply["engines"];
  /** Settings of this program's sessions that a request may name in `options`. @defaultValue none */
  readonly options?: readonly OptionChoice[];
  /** The directory of shares to a file. Nothing is written outside it. Without it, shares to a file are refused. */
  readonly sharesDirectory?: string;
  /** The address of a share over HTTP whose request names none. The operator may name any host. */
  readonly shareUrl?: string;
  /** The start time that `/health` shows, in epoch milliseconds. @defaultValue now */
  readonly startedAt?: number;
  readonly clock?: () => number;
  readonly log?: (message: string, fields?: Record<string, unknown>) => void;
}

/** A file of the page, with its compressed forms. */
export interface PageFile {
  /** `/` is the page itself. */
  readonly path: string;
  /** The media type. */
  readonly type: string;
  /** True if the path changes with the content, so that browsers may keep the file. */
  readonly immutable: boolean;
  readonly body: Uint8Array;
  readonly gzip?: Uint8Array;
  readonly brotli?: Uint8Array;
}

/** A setting whose value is one of its choices. */
export interface OptionChoice {
  readonly id: string;
  readonly choices: readonly { readonly id: string }[];
  /** The change that a value makes, null for none. Throws `invalid_setting`. Absent for an option that can only be read. */
  change?(session: Session, value: string): SettingChange | null;
}

/** The other nodes of a shared store. */
export interface Peers {
  readonly ask: AskNode;
  /** Registers the function that runs the HTTP requests that other nodes forward to this one. */
  serve(answer: (asked: unknown) => Promise<unknown>): Promise<void>;
  /** True while another node holds the session. */
  isElsewhere(sessionId: string): Promise<boolean>;
  /** The sessions that any node holds. */
  held(): Promise<ReadonlySet<string>>;
  readonly tokens: TokenHashes;
}

/** The sender of a request. `life` ends with its token. */
export type Caller =
  | { readonly kind: "master"; readonly life: AbortSignal; readonly person?: undefined; readonly by?: undefined }
  | ({ readonly kind: "user" } & Listed)
  /** `person` is absent for a page that the master signed in. */
  | ({ readonly kind: "page"; readonly id: string; readonly person?: Person | undefined } & Omit<Listed, "person">)
  | {
      readonly kind: "session";
      readonly session: string;
      readonly life: AbortSignal;
      readonly person?: undefined;
      readonly by?: undefined;
    };

/** A person who calls, with the life of their token. */
export interface Listed {
  readonly person: Person;
  readonly life: AbortSignal;
  /** The id of the person's entry in the list of people, equal at every node. Absent for a person who is not on the list. */
  readonly by?: string | undefined;
}

/** The people who may call besides the master. */
export interface People {
  /** The person whose token has this digest. */
  find(presented: Buffer): Listed | null;
  /** The life of an entry in the list. Null if the entry is gone. @defaultValue entries have no ids */
  lifeOf?(by: string): Promise<AbortSignal | null>;
  /** The person that a trusted proxy names. Null if the peer is not a trusted proxy or names nobody. */
  ofProxy(request: IncomingMessage): Listed | null;
}

/** Under Node, `incoming` and `outgoing` are Node's request and response; event streams are written straight to the response. */
export interface AppEnv {
  Bindings: {
    readonly incoming?: IncomingMessage;
    readonly outgoing?: ServerResponse;
    /** The request came over a socket that only the server's own user can open. */
    readonly isPrivate?: boolean;
    /** The connection of a request that asks for another protocol. A handler that takes the connection over calls `accept`. */
    readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer; accept(): void };
    /** The caller of a request that another node has authorized and forwards. */
    readonly forwarded?: Pick<Caller, "kind" | "person" | "by">;
  };
  Variables: {
    caller: Caller;
    requestId: string;
    /** The text of the body, once it was read. */
    body?: string;
    /** Warnings about names in the request that its route does not know. */
    warnings?: readonly string[];
    /** True if the answer is made while it is sent. */
    streamed?: boolean;
  };
}

/** Serves ACP on a channel, as `serveAcp` of `@chimera/acp-server` does with the program's sessions. */
export type ServeAcp = (peer: {
  readonly channel: LineChannel;
  /** The abilities of this transport, for the answer to `initialize`. */
  readonly transport: object;
  /** The only session that the caller's token opens. */
  readonly onlySession?: string;
  /** The person who calls. The connection serves the sessions that this person may see. */
  readonly person?: Person;
}) => AcpServing;

export interface AcpServing {
  readonly closed: Promise<unknown>;
  close(): Promise<void>;
  rewind(sessionId: string, seq: number): void;
}
