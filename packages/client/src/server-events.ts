/** The server says something at least every 15 s; after this silence the connection is dead. */
const SILENCE_MS = 45_000;

export interface ServerEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/**
 * Server-sent events as our server writes them: lines end with one character, and `data` is one line. Those of one chunk come together.
 * The stream is read only as fast as they are taken, and silence counts only while somebody waits. Throws after too long a silence, and
 * the signal's reason once that is aborted: under Node a body that is aborted while a chunk of it arrives does not always say so.
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
  // One that was aborted before calls no listener.
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
        const data = /^data: (.*)$/m.exec(block)?.[1];
        const [id, event = ""] = [/^id: (.*)$/m, /^event: (.*)$/m].map((field) => field.exec(block)?.[1]);
        return data === undefined ? [] : [{ id, event, data }];
      });
    }
  } finally {
    signal.removeEventListener("abort", leave);
    reader.cancel().catch(() => {});
  }
}
