/** Long answers sent as they are made: however long the log, no answer is built whole in memory. */
import type { Context } from "hono";
import type { AppEnv } from "../deps.js";
import { LIMITS } from "../limits.js";

/** Pieces are joined into chunks worth sending. */
export function streamText(
  c: Context<AppEnv>,
  pieces: AsyncIterable<string>,
  headers: Readonly<Record<string, string>>,
): Response {
  const source = pieces[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      let text = "";
      while (text.length < LIMITS.streamChunkBytes) {
        const { done, value } = await source.next();
        if (done) {
          if (text !== "") controller.enqueue(encoder.encode(text));
          controller.close();
          return;
        }
        text += value;
      }
      controller.enqueue(encoder.encode(text));
    },
    cancel: async () => void (await source.return?.()),
  });
  return c.body(body, 200, { ...headers });
}

/** A JSON answer with one long array in it. `head` ends where the array's content begins; `tail` closes it. */
export function streamArray(c: Context<AppEnv>, head: string, members: AsyncIterable<string>, tail: string): Response {
  const pieces = async function* () {
    let separator = head;
    for await (const member of members) {
      yield separator + member;
      separator = ",";
    }
    yield separator === head ? head + tail : tail;
  };
  return streamText(c, pieces(), { "Content-Type": "application/json" });
}
