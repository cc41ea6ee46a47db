/** A running server as this package talks to it: JSON requests that fail with words, and its event streams. */
import { startOf } from "@chimera/acp-schema/text";
import { CliError } from "../errors.js";
import { plainLine } from "../terminal/text.js";

export interface Server {
  readonly url: string;
  /** Null for 204. */
  request(method: "GET" | "POST", path: string, body?: object): Promise<Record<string, unknown> | null>;
  /** The body of an event stream from after `cursor`. */
  stream(path: string, cursor: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

const REQUEST_MS = 30_000;

export function createServer(url: string, token: string | undefined): Server {
  const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };

  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(`${url}${path}`, { redirect: "error", ...init }).catch((cause: Error) => {
      throw new CliError("unreachable", `cannot reach ${url}: ${reasonOf(cause)}`, { cause });
    });
    if (response.ok) return response;
    throw await refusal(url, response);
  };

  return {
    url,
    async request(method, path, body) {
      const response = await send(path, {
        method,
        headers: { ...authorization, ...(body && { "content-type": "application/json" }) },
        signal: AbortSignal.timeout(REQUEST_MS),
        ...(body && { body: JSON.stringify(body) }),
      });
      return response.status === 204 ? null : ((await response.json()) as Record<string, unknown>);
    },
    async stream(path, cursor, signal) {
      const headers = { ...authorization, accept: "text/event-stream", "last-event-id": String(cursor) };
      const { body } = await send(path, { headers, signal });
      if (!body) throw new CliError("unreachable", `${url} sent no stream`);
      return body as unknown as AsyncIterable<Uint8Array>;
    },
  };
}

// --- internal ---

async function refusal(url: string, response: Response): Promise<CliError> {
  const { status } = response;
  const reply = (await response.json().catch(() => ({}))) as { error?: unknown; message?: unknown };
  const said = startOf(plainLine(String(reply.message ?? reply.error ?? response.statusText)), 300);
  if (status === 401 || status === 403) return new CliError("unauthorized", `${url} refuses the token: ${said}`);
  if (status === 404) return new CliError("not_found", said);
  if (status === 409) return new CliError("conflict", said);
  return new CliError(status >= 500 ? "unreachable" : "failed", `${url} answered ${status}: ${said}`);
}

/** fetch hides what happened one level down. */
function reasonOf(error: Error): string {
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.message || String((cause as NodeJS.ErrnoException).code ?? cause.name);
}
