import type { LineChannel } from "@chimera/ndjson-rpc";
import type { Person } from "@chimera/session";

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
