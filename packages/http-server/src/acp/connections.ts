/** ACP connections by their id. A connection stays for a while without streams, so that a client whose streams broke can open them again. */
import { randomBytes } from "node:crypto";
import type { LineChannel } from "@chimera/ndjson-rpc";
import type { AcpServing, Caller, ServeAcp } from "../deps.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { createStreamsChannel, type StreamsChannel } from "./streams-channel.js";

export interface AcpConnection {
  readonly id: string;
  readonly channel: StreamsChannel;
  /** True when a message comes for the first time. A client that got no answer sends its message again. */
  isNew(key: string | undefined, id: string): boolean;
  close(): Promise<void>;
}

export type AcpConnections = ReturnType<typeof createAcpConnections>;

const TRANSPORT = { resume: true, ids: "seq", graceMs: LIMITS.acpGraceMs, websocket: true };

export function createAcpConnections(serve: ServeAcp) {
  const open = new Map<string, AcpConnection & { readonly caller: string }>();
  /** All connections, also those over a WebSocket, each with the name of its caller. */
  const served = new Map<AcpServing, string>();

  /** Makes the id of a new connection of this caller. Throws 503 `too_many_connections`. */
  const admit = (caller: Caller): string => {
    const own = [...served.values()].filter((one) => one === nameOf(caller)).length;
    if (own >= LIMITS.acpConnectionsOfCaller || served.size >= LIMITS.acpConnections)
      throw new HttpError(503, "too_many_connections", "too many ACP connections are open: end some, or try later");
    return randomBytes(16).toString("hex");
  };
  /** Serves a channel until it closes or the caller's token ends. */
  const begin = (caller: Caller, channel: LineChannel): AcpServing => {
    const server = serve({
      channel,
      transport: TRANSPORT,
      ...(caller.kind === "session" && { onlySession: caller.session }),
      ...(caller.person && { person: caller.person }),
    });
    served.set(server, nameOf(caller));
    const end = () => void server.close();
    const { life } = caller;
    life.addEventListener("abort", end);
    void server.closed.finally(() => {
      served.delete(server);
      life.removeEventListener("abort", end);
    });
    // The token may have ended since the request was authorized.
    if (life.aborted) end();
    return server;
  };

  return {
    admit,
    begin,
    create(caller: Caller): AcpConnection {
      const id = admit(caller);
      let grace: NodeJS.Timeout | undefined;
      const close = () => server.close();
      const wait = () => {
        clearTimeout(grace);
        grace = setTimeout(() => void close(), LIMITS.acpGraceMs).unref();
      };
      const channel = createStreamsChannel({
        rewind: (session, seq) => server.rewind(session, seq),
        onStreams: (streams) => (streams > 0 ? clearTimeout(grace) : wait()),
      });
      const server = begin(caller, channel);
      const connection = { id, channel, close, caller: nameOf(caller), isNew: createSeen() };
      open.set(id, connection);
      void server.closed.finally(() => {
        clearTimeout(grace);
        open.delete(id);
      });
      wait();
      return connection;
    },
    /** The connection of this caller. Throws 404 `connection_not_found`, also for a connection of another caller. */
    find(id: string, caller: Caller): AcpConnection {
      const found = open.get(id);
      if (found?.caller === nameOf(caller)) return found;
      throw new HttpError(404, "connection_not_found", "there is no such ACP connection: initialize again");
    },
    async close(): Promise<void> {
      await Promise.all([...served.keys()].map((server) => server.close()));
    },
  };
}

// --- internal ---

/** Returns a function that tells whether a message with this key comes for the first time. A message without a key counts as new. */
function createSeen() {
  const seen = new Set<string>();
  return (key: string | undefined, messageId: string): boolean => {
    if (key === undefined) return true;
    const name = `${key} ${messageId}`;
    if (seen.has(name)) return false;
    seen.add(name);
    if (seen.size > LIMITS.acpKeptFrames) seen.delete(seen.keys().next().value!);
    return true;
  };
}

function nameOf(caller: Caller): string {
  if (caller.kind === "session") return `session ${caller.session}`;
  return caller.kind === "user" ? `user ${caller.person.name}` : caller.kind;
}
