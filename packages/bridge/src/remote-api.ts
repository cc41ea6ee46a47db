/** The three calls to a receiver: register, heartbeat, remove. Follows no redirects, which would send the token elsewhere. */
import type { Agent, IncomingMessage } from "node:http";
import { BridgeError, networkError, statusError } from "./errors.js";
import type { RemoteAddress } from "./remote.js";
import type { BridgedSession } from "./session.js";

const ANSWER_MS = 15_000;
/** How long the goodbye may delay the end of the process. */
const GOODBYE_MS = 2_000;
const MAX_REPLY_BYTES = 64 * 1024;

export function createRemoteApi(deps: {
  readonly address: RemoteAddress;
  readonly token: string;
  readonly session: BridgedSession;
  readonly agent: Agent | undefined;
}) {
  const { address, session } = deps;

  const call = async (what: string, url: URL, options: CallOptions) => {
    const headers = { authorization: `Bearer ${deps.token}`, "content-type": "application/json" };
    const { status, reply } = await send(url, { headers, agent: deps.agent, ...options }).catch((error) => {
      throw networkError(error, what);
    });
    const refused = statusError(status, what);
    if (refused) throw refused;
    return reply;
  };

  return {
    async register(signal: AbortSignal) {
      const { model, sandbox, approval } = session.facts();
      const body = { session_id: session.id, model, sandbox, approval, cwd: session.cwd };
      const reply = await call("registering", address.at("api", "sessions"), post(body, signal)).catch(noSuchPath);
      const { ui_url, ws_url } = parseObject(reply);
      return { uiUrl: address.page(ui_url), wsUrl: address.socket(ws_url) };
    },
    async heartbeat(signal: AbortSignal) {
      const { sandbox, approval, costUsd } = session.facts();
      const url = address.at("api", "sessions", session.id, "heartbeat");
      await call("the heartbeat", url, post({ sandbox, approval, cost_total_usd: costUsd }, signal));
    },
    async remove() {
      const url = address.at("api", "sessions", session.id);
      await call("removing the session", url, { method: "DELETE", limitMs: GOODBYE_MS });
    },
  };
}

// --- internal ---

interface CallOptions {
  readonly method: string;
  readonly body?: string;
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

function post(body: object, signal: AbortSignal): CallOptions {
  return { method: "POST", body: JSON.stringify(body), limitMs: ANSWER_MS, signal };
}

/** At registration there is no session yet, so 404 means that there is no receiver at the address. */
function noSuchPath(error: BridgeError): never {
  if (error.code !== "unknown_session") throw error;
  throw new BridgeError("not_a_receiver", error.message, { cause: error });
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Throw the same error as for JSON that is not an object.
  }
  throw new BridgeError("not_a_receiver", "the answer to the registration is not a JSON object");
}

interface Outgoing extends CallOptions {
  readonly headers: Record<string, string>;
  readonly agent: Agent | undefined;
}

async function send(url: URL, { body, limitMs, ...options }: Outgoing): Promise<{ status: number; reply: string }> {
  const { request } = url.protocol === "https:" ? await import("node:https") : await import("node:http");
  return new Promise((resolve, reject) => {
    const outgoing = request(url, options, (response) => {
      readReply(response).then((reply) => resolve({ status: response.statusCode ?? 0, reply }), reject);
    });
    const limit = setTimeout(() => outgoing.destroy(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
    outgoing.on("error", reject);
    outgoing.on("close", () => clearTimeout(limit));
    outgoing.end(body);
  });
}

async function readReply(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_REPLY_BYTES) throw new Error(`the reply is longer than ${MAX_REPLY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
