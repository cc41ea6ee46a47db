/** The server sends something at least every 15 s. After this much silence the connection is dead. */
const SILENCE_MS = 45_000;

const FIELDS = [/^data: (.*)$/m, /^id: (.*)$/m, /^event: (.*)$/m];

export interface ServerEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/**
 * Reads server-sent events in the form of our server: lines end with "\n", and `data` is one line. Yields the events of a chunk together.
 * Reads only as fast as the consumer, and counts silence only while the consumer waits. Throws after too long a silence, and the signal's
 * reason when it aborts, because under Node an aborted body does not always report that while a chunk arrives.
 *
 * @example
 * const response = await fetch(`${url}/sessions/${id}/events`, { headers, signal });
 * for await (const events of serverEvents(response, signal)) for (const { data } of events) console.log(JSON.parse(data));
 */
export async function* serverEvents(response: Response, signal: AbortSignal): AsyncGenerator<ServerEvent[]> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let leave = () => {};
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
  });
  left.catch(() => {});
  // A signal that is aborted already calls no listener.
  if (signal.aborted) leave();
  try {
    for (;;) {
      let silent: ReturnType<typeof setTimeout> | undefined;
      const silence = new Promise<never>((_, reject) => {
        silent = setTimeout(reject, SILENCE_MS, new Error("the server fell silent"));
      });
      const { done, value } = await Promise.race([reader.read(), left, silence]).finally(() => clearTimeout(silent));
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = blocks.pop() ?? "";
      yield blocks.flatMap((block) => {
        const [data, id, event = ""] = FIELDS.map((field) => field.exec(block)?.[1]);
        return data === undefined ? [] : [{ id, event, data }];
      });
    }
  } finally {
    signal.removeEventListener("abort", leave);
    reader.cancel().catch(() => {});
  }
}
