/** The part of a Node writable stream that the outbox uses. */
export interface OutputStream {
  write(text: string, done: (error?: Error | null) => void): boolean;
  end(): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "close", listener: () => void): unknown;
}

const WRITE_AT = 64 * 1024;

/** Strictly ordered, batching writer of lines. `onFailure` is called at most once, when the output is gone (EPIPE, closed by the peer). */
export function createOutbox(
  output: OutputStream,
  { highWaterBytes, onFailure }: { readonly highWaterBytes: number; onFailure(): void },
) {
  // Joined when they leave: growing one string line by line costs twice as much.
  let lines: string[] = [];
  let queued = 0;
  let scheduled = false;
  let inFlight = 0;
  let ended = false;
  let waiting: Array<() => void> = [];

  function flush(): void {
    scheduled = false;
    if (queued === 0 || ended) return;
    lines.push("");
    const text = lines.join("\n");
    lines = [];
    queued = 0;
    inFlight += text.length;
    output.write(text, (error) => {
      inFlight -= text.length;
      if (error) fail();
      else settle();
    });
  }

  function settle(): void {
    if (waiting.length > 0 && (ended || queued + inFlight < highWaterBytes)) {
      const ready = waiting;
      waiting = [];
      for (const resolve of ready) resolve();
    }
  }

  function fail(): void {
    if (ended) return;
    ended = true;
    lines = [];
    queued = 0;
    inFlight = 0;
    settle();
    onFailure();
  }

  output.on("error", fail);
  output.on("close", fail);

  return {
    /** Queues one line; lines leave in the order of the calls, those of one tick in one write. */
    send(line: string) {
      if (ended) return;
      lines.push(line);
      queued += line.length + 1;
      if (queued >= WRITE_AT) flush();
      else if (!scheduled) {
        scheduled = true;
        // After whatever else this callback and its promises send, and before the loop turns.
        process.nextTick(flush);
      }
    },
    /** Characters accepted and not yet taken by the output. */
    get bufferedBytes() {
      return queued + inFlight;
    },
    /** Resolves once the buffer is below the high-water mark, or the output is gone. */
    drained(): Promise<void> {
      if (ended || queued + inFlight < highWaterBytes) return Promise.resolve();
      return new Promise((resolve) => {
        waiting.push(resolve);
      });
    },
    /** Writes what is queued, ends the output, and resolves when all of it was taken or the output failed. */
    close(): Promise<void> {
      if (ended) return Promise.resolve();
      flush();
      return new Promise((resolve) => {
        // The callback of an empty write runs after all earlier ones, and with an error if they failed.
        output.write("", () => {
          ended = true;
          settle();
          output.end();
          resolve();
        });
      });
    },
  };
}
