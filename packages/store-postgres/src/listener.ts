/** One connection that receives the messages of nodes. When it breaks, it is opened again, after pauses, until that succeeds. */
import { backoff } from "@chimera/acp-schema/timer";

/** The parts of a connection that the listener uses. */
export interface ListeningClient {
  connect(): Promise<unknown>;
  query(statement: string): Promise<unknown>;
  end(): Promise<void>;
  on(event: "notification", heard: (message: { channel: string; payload?: string | undefined }) => void): unknown;
  once(event: "end", ended: () => void): unknown;
}

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1000;

interface Channel {
  readonly heard: (message: string) => void;
  readonly onReady: () => void;
}

export function createListener(open: () => ListeningClient) {
  const channels = new Map<string, Channel>();
  let client: ListeningClient | null = null;
  let isConnected = false;
  let isClosed = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;

  const connect = async (): Promise<void> => {
    const opened = open();
    client = opened;
    opened.on("notification", ({ channel, payload = "" }) => channels.get(channel)?.heard(payload));
    opened.once("end", () => lost(opened));
    try {
      await opened.connect();
      for (const channel of channels.keys()) await opened.query(`LISTEN ${channel}`);
      isConnected = true;
      failures = 0;
      for (const { onReady } of channels.values()) onReady();
    } catch {
      await opened.end().catch(() => {});
      lost(opened);
    }
  };
  const lost = (which: ListeningClient): void => {
    if (client !== which) return;
    client = null;
    isConnected = false;
    if (isClosed) return;
    timer = setTimeout(() => void connect(), backoff(failures++, FIRST_WAIT_MS, LONGEST_WAIT_MS)).unref();
  };

  return {
    /**
     * Calls `heard` with each message of the channel. PostgreSQL drops messages while this node is not connected, so `onReady` is called
     * after each connection. Resolves after the first.
     */
    listen(channel: string, heard: (message: string) => void, onReady: () => void = () => {}) {
      const first = new Promise<void>((resolve) => {
        channels.set(channel, {
          heard,
          onReady() {
            resolve();
            onReady();
          },
        });
      });
      if (client === null && timer === undefined) void connect();
      else if (isConnected)
        client?.query(`LISTEN ${channel}`).then(
          () => channels.get(channel)?.onReady(),
          () => {}, // The connection broke, and the next one listens to every channel.
        );
      return first;
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await client?.end().catch(() => {});
    },
  };
}

/**
 * Returns a function that runs `work`. A call while it runs makes it run once more afterwards, because the run that has begun may miss
 * the caller's news. A failed run is left to the next call, since the database may be away.
 */
export function onceMore(work: () => Promise<unknown>): () => Promise<void> {
  let isDue = false;
  let isWorking = false;
  return async () => {
    isDue = true;
    if (isWorking) return;
    isWorking = true;
    while (isDue) {
      isDue = false;
      await work().catch(() => {});
    }
    isWorking = false;
  };
}
