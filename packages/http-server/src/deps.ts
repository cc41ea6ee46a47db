/** What an app is made of: plain functions and data, so that it can be mounted in any program. */
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
  /** What the agent under that name is, in its manifest. @defaultValue a sentence made of the name */
  readonly agentDescription?: string;
  /** The core; how long idle sessions stay loaded and where logs live is its business. */
  readonly sessions: Sessions;
  /** Serves ACP at `/acp`. @defaultValue nothing is there */
  readonly acp?: ServeAcp;
  /** The other nodes, where several share a store. @defaultValue none: a session that another process has is refused */
  readonly peers?: Peers;
  /** Custom slash commands. @defaultValue none */
  readonly palette?: Pick<SlashPalette, "custom"> & Partial<Pick<SlashPalette, "commands">>;
  /** Where sessions run when a request names no directory, and whose custom commands are listed and invoked. */
  readonly defaultCwd: string;
  /** The master token. Without one every caller that passes the Host and Origin checks, and `isOwnUser`, is the master. */
  readonly authToken?: string;
  /** People with tokens of their own, and a proxy that names them. @defaultValue none */
  readonly people?: People;
  /** Whether the peer of a connection may call without a token; `createOwnUserCheck` makes one. @defaultValue everybody may */
  readonly isOwnUser?: IsOwnUser;
  /** The files of the page, read when somebody asks for one. @defaultValue there is no page, and a browser's Origin must be one of `cors` */
  readonly page?: () => Promise<readonly PageFile[]>;
  /** A code by which a page may sign in, once. `POST /page/codes` makes further ones. @defaultValue none */
  readonly pageCode?: string;
  /** Browser origins that may call, exactly as a browser writes them. @defaultValue none */
  readonly cors?: readonly string[];
  /** What a Host header may name besides loopback, without a port. @defaultValue none */
  readonly hosts?: readonly string[];
  /** Agent definitions a run in this directory may ask for by name. */
  readonly agents?: (
    cwd: string,
  ) => Promise<readonly { readonly id: string; readonly description?: string | undefined }[]>;
  readonly tools?: () => ToolsReply["tools"] | Promise<ToolsReply["tools"]>;
  readonly providers?: () => ProvidersReply;
  readonly models?: () => ModelsReply["models"] | Promise<ModelsReply["models"]>;
  /** The programs that can run a session's turns. @defaultValue none is named */
  readonly engines?: () => EnginesReply["engines"];
  /** Settings of sessions besides those that all have, by which a request may name them in `options`. @defaultValue none */
  readonly options?: readonly OptionChoice[];
  /** Where shares to a file are kept; nothing is written outside it. Without it there are none. */
  readonly sharesDirectory?: string;
  /** Where a share over HTTP goes when the request names no address; the operator may name any host. */
  readonly shareUrl?: string;
  /** What `/health` says, as epoch milliseconds. @defaultValue now */
  readonly startedAt?: number;
  readonly clock?: () => number;
  readonly log?: (message: string, fields?: Record<string, unknown>) => void;
}

/** A file of the page, with what it is compressed to. */
export interface PageFile {
  /** `/` is the page itself. */
  readonly path: string;
  /** Its media type. */
  readonly type: string;
  /** Its path changes with its content. */
  readonly immutable: boolean;
  readonly body: Uint8Array;
  readonly gzip?: Uint8Array;
  readonly brotli?: Uint8Array;
}

/** A setting that is one of its choices. */
export interface OptionChoice {
  readonly id: string;
  readonly choices: readonly { readonly id: string }[];
  /** What choosing a value changes; null when nothing. Throws `invalid_setting`. Absent for an option that can only be read. */
  change?(session: Session, value: string): SettingChange | null;
}

/** The other nodes of a store that several share. */
export interface Peers {
  readonly ask: AskNode;
  /** Takes what answers the call `http` of other nodes: a request of theirs, made here. */
  serve(answer: (asked: unknown) => Promise<unknown>): Promise<void>;
  /** True while another node holds the session. */
  isElsewhere(sessionId: string): Promise<boolean>;
  /** The sessions that any node holds. */
  held(): Promise<ReadonlySet<string>>;
  readonly tokens: TokenHashes;
}

/** Who calls. They are good for as long as their token is. */
export type Caller =
  | { readonly kind: "master"; readonly life: AbortSignal; readonly person?: undefined; readonly by?: undefined }
  | ({ readonly kind: "user" } & Listed)
  /** Its person is absent where the master signed in. */
  | ({ readonly kind: "page"; readonly id: string; readonly person?: Person | undefined } & Omit<Listed, "person">)
  | {
      readonly kind: "session";
      readonly session: string;
      readonly life: AbortSignal;
      readonly person?: undefined;
      readonly by?: undefined;
    };

/** Somebody who calls under a name. */
export interface Listed {
  readonly person: Person;
  readonly life: AbortSignal;
  /** Their entry in the list of people, as every node names it; absent for somebody who is not on it. */
  readonly by?: string | undefined;
}

/** The people who may call besides the master. */
export interface People {
  /** Whose token has this digest. */
  find(presented: Buffer): Listed | null;
  /** The life of an entry in the list; null once the entry is gone. @defaultValue entries have no names */
  lifeOf?(by: string): Promise<AbortSignal | null>;
  /** Who a proxy says that it is, where the proxy is one that is believed. */
  ofProxy(request: IncomingMessage): Listed | null;
}

/** Under Node the request and the response themselves are at hand, and event streams are written straight to the latter. */
export interface AppEnv {
  Bindings: {
    readonly incoming?: IncomingMessage;
    readonly outgoing?: ServerResponse;
    /** The request came over a socket that only the server's own user can open. */
    readonly isPrivate?: boolean;
    /** The connection, where the request asks for another protocol on it; a handler that takes it over calls `accept`. */
    readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer; accept(): void };
    /** Another node let this caller in, and asks in their place. */
    readonly forwarded?: Pick<Caller, "kind" | "person" | "by">;
  };
  Variables: {
    caller: Caller;
    requestId: string;
    /** What was read of the body. */
    body?: string;
    /** Names in the request that its route does not know. */
    warnings?: readonly string[];
    /** The answer is made while it is sent. */
    streamed?: boolean;
  };
}

/** Serves ACP on a channel, as `serveAcp` of `@chimera/acp-server` does with the program's sessions. */
export type ServeAcp = (peer: {
  readonly channel: LineChannel;
  /** What this transport can do, for the answer to `initialize`. */
  readonly transport: object;
  /** The one session that the caller's token is for. */
  readonly onlySession?: string;
  /** Who calls: they are given the sessions that they may see. */
  readonly person?: Person;
}) => AcpServing;

export interface AcpServing {
  readonly closed: Promise<unknown>;
  close(): Promise<void>;
  rewind(sessionId: string, seq: number): void;
}
