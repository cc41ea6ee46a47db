/**
 * Answers without the app: it is not loaded yet, it is being closed, or the request cannot be given to it. They have the usual headers and
 * a request id. This file is small because it is loaded before the port is bound.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ErrorCode } from "@chimera/acp-schema/http";
import { EVERY_ANSWER } from "./guard/headers.js";
import { requestIdOf } from "./request/request-id.js";

export interface Refusal {
  readonly status: number;
  readonly error: ErrorCode;
  readonly message: string;
}

type Asked = Pick<IncomingMessage, "headers">;

/** @param request absent if no request could be read */
export function headersFor(request?: Asked) {
  const id = requestIdOf(request?.headers["x-request-id"]);
  return { "Content-Type": "application/json", ...EVERY_ANSWER, "X-Request-Id": id };
}

export function bodyOf({ error, message }: Refusal, headers: ReturnType<typeof headersFor>): string {
  return JSON.stringify({ error, message, request_id: headers["X-Request-Id"] });
}

export function refuse(outgoing: ServerResponse, refusal: Refusal, more: Readonly<Record<string, string>> = {}): void {
  const headers = headersFor(outgoing.req);
  // Not with `writeHead`: the request log reads the id from the response.
  for (const [name, value] of Object.entries({ ...headers, ...more })) outgoing.setHeader(name, value);
  outgoing.statusCode = refusal.status;
  outgoing.end(bodyOf(refusal, headers));
}
