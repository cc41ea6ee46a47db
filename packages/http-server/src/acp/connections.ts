/** ACP connections by their id. A connection outlives its streams for a while, so that a client that lost them goes on where it was. */
import { randomBytes } from "node:crypto";
import type { LineChannel } from "@chimera/ndjson-rpc";
import type { AcpServing, Caller, ServeAcp } from "../deps.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { createStreamsChannel, type StreamsChannel } from "./streams-channel.js";

export interface AcpConnection {
  readonly id: string;
  readonly channel: StreamsChannel;
  /** True the first time a message comes; a client that did not hear the answer sends it again. */
  isNew(key: string | undefined, id: string): boolean;
  close(): Promise<void>;
}

export type AcpConnections = ReturnType<typeof createAcpConnections>;

const TRANSPORT = { resume: true, ids: "seq", graceMs: LIMITS.acpGraceMs, websocket: true };

export function createAcpConnections(serve: ServeAcp) {
  const open = new Map<string, AcpConnection & { readonly caller: string }>();
  /** Those over a WebSocket too, each with its caller. */
  const served = new Map<AcpServing, string>();

  /** The id of one more connection of this caller. Throws 503 `too_many_connections`. */
  const admit = (caller: Caller): string => {
    const own = [...served.values()].filter((one) => one === nameOf(caller)).length;
    if (own >= LIMITS.acpConnectionsOfCaller || served.size >= LIMITS.acpConnections)
      throw new HttpError(503, "too_many_connections", "too many ACP connections are open: end some, or try later");
    return randomBytes(16).toString("hex");
  };
  /** Ends with the token that the caller came with. */
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
    // The token may have ended since the request was let in.
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

/** Says whether a message with this key comes for the first time. One without a key always does. */
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
