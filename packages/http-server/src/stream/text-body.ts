/** Long answers sent as they are made: however long the log, no answer is built whole in memory. */
import type { Context } from "hono";
import type { AppDeps, AppEnv } from "../deps.js";
import { logFailure } from "../http-error.js";
import { LIMITS } from "../limits.js";

/** Joins pieces into chunks worth sending. If one cannot be made, the answer is cut short: its status is out. */
export function streamText(
  c: Context<AppEnv>,
  log: AppDeps["log"],
  pieces: AsyncIterable<string>,
  headers: Readonly<Record<string, string>>,
): Response {
  c.set("streamed", true);
  // Nobody reads the body, and nothing says so: the reader of the log would wait forever.
  if (c.req.method === "HEAD") return c.body(null, 200, { ...headers });
  const source = pieces[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let hasLeft = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const text = await nextChunk(source);
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

/** A JSON answer with one long array in it. `head` ends where the array's content begins; `tail` closes it. */
export function streamArray(
  c: Context<AppEnv>,
  log: AppDeps["log"],
  { head, members, tail }: { readonly head: string; readonly members: AsyncIterable<string>; readonly tail: string },
): Response {
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

/** Empty when there is no more. */
async function nextChunk(source: AsyncIterator<string>): Promise<string> {
  let text = "";
  while (text.length < LIMITS.streamChunkBytes) {
    const { done, value } = await source.next();
    if (done) break;
    text += value;
  }
  return text;
}
