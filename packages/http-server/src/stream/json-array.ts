/** A JSON answer with one long array in it, sent as it is read: however long the log, no answer is built whole in memory. */
import type { Context } from "hono";
import type { AppEnv } from "../deps.js";
import { LIMITS } from "../limits.js";

/** `members` are JSON texts. `head` ends where the array's content begins; `tail` closes it. */
export function streamArray(c: Context<AppEnv>, head: string, members: AsyncIterable<string>, tail: string): Response {
  const parts = members[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let pending = head;
  let first = true;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      while (pending.length < LIMITS.streamChunkBytes) {
        const { done, value } = await parts.next();
        if (done) {
          controller.enqueue(encoder.encode(pending + tail));
          controller.close();
          return;
        }
        pending += first ? value : `,${value}`;
        first = false;
      }
      controller.enqueue(encoder.encode(pending));
      pending = "";
    },
    cancel: async () => void (await parts.return?.()),
  });
  return c.body(body, 200, { "Content-Type": "application/json" });
}
