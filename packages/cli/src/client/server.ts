/** A running server as this package talks to it: the typed client, whose failures become a line for the person. */
import { startOf } from "@chimera/acp-schema/text";
import { type Client, ClientError, type ClientOptions, createClient } from "@chimera/client";
import { CliError } from "../errors.js";
import { plainLine } from "../terminal/text.js";

export interface Server {
  readonly url: string;
  /** Uses the client, with words for what goes wrong. */
  ask<T>(use: (client: Client) => Promise<T>, options?: Pick<ClientOptions, "onRetry">): Promise<T>;
}

export function createServer(url: string, token: string | undefined): Server {
  return {
    url,
    async ask(use, options = {}) {
      try {
        return await use(createClient({ url, token, retries: 1, ...options }));
      } catch (error) {
        throw error instanceof ClientError ? refusal(url, error) : error;
      }
    },
  };
}

// --- internal ---

function refusal(url: string, cause: ClientError): CliError {
  const { status, message } = cause;
  const said = startOf(plainLine(message), 300);
  if (status === 0) return new CliError("unreachable", said, { cause });
  if (status === 401 || status === 403)
    return new CliError("unauthorized", `${url} refuses the token: ${said}`, { cause });
  if (status === 404) return new CliError("not_found", said, { cause });
  if (status === 409) return new CliError("conflict", said, { cause });
  return new CliError(status >= 500 ? "unreachable" : "failed", `${url} answered ${status}: ${said}`, { cause });
}
