/** Sends long answers while they are made, so that no answer is whole in memory, however long its log is. */
import type { Context } from "hono";
import type { AppDeps, AppEnv } from "../deps.js";
import { logFailure } from "../http-error.js";
import { LIMITS } from "../limits.js";

/** Sends pieces of text in larger chunks. If making a piece fails after the first chunk, the answer is cut short: its status has been sent. */
export async function streamText(
  c: Context<AppEnv>,
  log: AppDeps["log"],
  pieces: AsyncIterable<string>,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  // Nobody reads the body of a HEAD answer, so the reader of the log would wait forever.
  if (c.req.method === "HEAD") return c.body(null, 200, { ...headers });
  const source = pieces[Symbol.asyncIterator]();
  let first: string | null = await nextChunk(source);
  c.set("streamed", true);
  const encoder = new TextEncoder();
  let hasLeft = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const text = first ?? (await nextChunk(source));
        first = null;
        if (hasLeft) return;
        if (text === "") controller.close();
        else controller.enqueue(encoder.encode(text));
      } catch (error) {
        logFailure(error, c, log);
        const outgoing = c.env?.outgoing;
        if (!outgoing) return controller.error(new Error("the answer was cut short"));
        controller.close();
        outgoing.destroy();
      }
    },
    async cancel() {
      hasLeft = true;
      await source.return?.();
    },
  });
  return c.body(body, 200, { ...headers });
}

/** Sends a JSON answer that contains a long array. `head` is the text before the members of the array, `tail` the text after them. */
export function streamArray(
  c: Context<AppEnv>,
  log: AppDeps["log"],
  { head, members, tail }: { readonly head: string; readonly members: AsyncIterable<string>; readonly tail: string },
): Promise<Response> {
  const warnings = c.get("warnings");
  const end = warnings ? `${tail.slice(0, -1)},"warnings":${JSON.stringify(warnings)}}` : tail;
  const pieces = async function* () {
    let separator = head;
    for await (const member of members) {
      yield separator + member;
      separator = ",";
    }
    yield separator === head ? head + end : end;
  };
  return streamText(c, log, pieces(), { "Content-Type": "application/json" });
}

// --- internal ---

/** The next chunk. Empty at the end. */
async function nextChunk(source: AsyncIterator<string>): Promise<string> {
  let text = "";
  while (text.length < LIMITS.streamChunkBytes) {
    const { done, value } = await source.next();
    if (done) break;
    text += value;
  }
  return text;
}
