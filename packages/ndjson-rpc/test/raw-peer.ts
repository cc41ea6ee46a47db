import { PassThrough } from "node:stream";
import { type Connection, type ConnectionOptions, createConnection } from "../src/index.js";

export interface RawPeer {
  readonly connection: Connection;
  /** The lines that the connection has written so far. */
  lines(): string[];
  /** Writes bytes to the connection and waits until it has processed them. */
  send(...lines: (string | Uint8Array)[]): Promise<void>;
  readonly toConnection: PassThrough;
  readonly fromConnection: PassThrough;
}

/** A connection whose other end reads and writes raw bytes. */
export function createRawPeer(options: Partial<ConnectionOptions> = {}): RawPeer {
  const toConnection = new PassThrough();
  const fromConnection = new PassThrough();
  let received = "";
  fromConnection.on("data", (chunk: Buffer) => {
    received += chunk.toString("utf8");
  });
  const connection = createConnection({ ...options, input: toConnection, output: fromConnection });
  return {
    connection,
    toConnection,
    fromConnection,
    lines: () => received.split("\n").slice(0, -1),
    async send(...lines) {
      for (const line of lines) {
        toConnection.write(line);
        if (typeof line === "string") toConnection.write("\n");
      }
      // The input, the handler and the batched output each take one turn of the event loop.
      for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
