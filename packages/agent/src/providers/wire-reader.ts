/** How a vendor's events become model events: the part that differs, and the part that does not. */
import { AgentError, type AgentErrorCode, isAgentError } from "../errors.js";
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
    if (out.at(-1)?.type === "stop") return;
    try {
      reader.read(event, out);
    } catch (error) {
      throw isAgentError(error) ? error : misread(error);
    }
  };
  let lost: unknown;
  try {
    for await (const _ of postForEvents(post, request, take)) {
      if (out.length === 0) continue;
      const ready = out;
      out = [];
      yield ready;
      if (ready.at(-1)?.type === "stop") return;
    }
  } catch (error) {
    if (!isAgentError(error) || !LOST.has(error.code)) throw error;
    lost = error;
  }
  const last: ModelEvent[] = [];
  reader.finish(last);
  // A connection that is lost behind the last word took nothing with it.
  if (last.length > 0) yield last;
  else if (lost) throw lost;
}

/** A field that should be text: anything else is taken for none. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

// --- internal ---

const LOST: ReadonlySet<AgentErrorCode> = new Set(["connection_lost", "stalled"]);

function misread(cause: unknown): AgentError {
  return new AgentError("bad_reply", "the model sent something that is not its protocol", { cause });
}
