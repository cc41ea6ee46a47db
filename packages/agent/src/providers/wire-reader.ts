/** How a vendor's events become model events: the part that differs, and the part that does not. */
import { AgentError, isAgentError } from "../errors.js";
import type { ModelEvent } from "./model.js";
import type { Post, PostRequest } from "./post.js";
import { postForEvents } from "./sse.js";

export interface WireReader {
  /** Reads one event of the vendor's, appending to `out`; throws what the vendor reports as an error. */
  read(event: unknown, out: ModelEvent[]): void;
  /** The stream has ended: what could only be known then. */
  finish(out: ModelEvent[]): void;
}

/** Posts and reads the reply. What was understood before an error is handed on before the error is. */
export async function* postAndRead(
  post: Post,
  request: PostRequest,
  reader: WireReader,
): AsyncGenerator<readonly ModelEvent[]> {
  let out: ModelEvent[] = [];
  const take = (event: unknown): void => {
    try {
      reader.read(event, out);
    } catch (error) {
      throw isAgentError(error) ? error : misread(error);
    }
  };
  for await (const _ of postForEvents(post, request, take)) {
    if (out.length === 0) continue;
    const ready = out;
    out = [];
    yield ready;
    if (ready.at(-1)?.type === "stop") return;
  }
  const last: ModelEvent[] = [];
  reader.finish(last);
  if (last.length > 0) yield last;
}

/** A field that should be text: anything else is taken for none. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

// --- internal ---

function misread(cause: unknown): AgentError {
  return new AgentError("bad_reply", "the model sent something that is not its protocol", { cause });
}
