/** Forwards a request about a session of another node to that node, once, and returns its answer. */
import { heldElsewhere } from "@chimera/session";
import type { Context } from "hono";
import type { AppEnv, Caller, Peers } from "./deps.js";
import type { Handler } from "./routes/route.js";

/** Calls the handler. If another node holds the session, forwards the request to it. */
export async function answerAnywhere(c: Context<AppEnv>, handle: Handler, peers: Peers | undefined): Promise<Response> {
  if (peers === undefined || c.env?.forwarded) return handle(c);
  const { askHolder, MOVED, whileMoving } = await import("@chimera/session/anywhere");
  return whileMoving(async () => {
    try {
      return await handle(c);
    } catch (error) {
      const id = heldElsewhere(error);
      if (id === null) throw error;
      const done = await askHolder(peers.ask, { session: id, method: "http", args: [{ value: describe(c) }] });
      if (done === null) throw error;
      const { status, headers, body } = done.value as Answer;
      if (status === 409 && MOVED.has(JSON.parse(body).error)) throw error;
      return new Response(body === "" ? null : body, { status, headers });
    }
  });
}

/** Makes the function that runs a forwarded request. The other node has authorized the caller. */
export function createAnswerer(
  fetch: (request: Request, env: AppEnv["Bindings"]) => Response | Promise<Response>,
): (asked: unknown) => Promise<unknown> {
  return async (asked) => {
    const { method, target, headers: given, body, caller } = asked as Asked;
    const sent = { ...given, Host: "localhost", ...(body !== "" && { "Content-Type": "application/json" }) };
    const request = new Request(`http://localhost${target}`, { method, headers: sent, ...(body !== "" && { body }) });
    const response = await fetch(request, { forwarded: caller });
    const headers = picked(ANSWERED, (name) => response.headers.get(name));
    return { status: response.status, headers, body: await response.text() } satisfies Answer;
  };
}

// --- internal ---

interface Asked {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly caller: Pick<Caller, "kind" | "person" | "by">;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The request headers that are forwarded. */
const HEADERS = ["prefer", "idempotency-key"];
/** The answer headers that are passed back. The node that took the request sets all others. */
const ANSWERED = ["content-type", "retry-after"];

function picked(names: readonly string[], read: (name: string) => string | null | undefined): Record<string, string> {
  const found = names.map((name) => [name, read(name) ?? ""] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== ""));
}

function describe(c: Context<AppEnv>): Asked {
  const { pathname, search } = new URL(c.req.url);
  const body = c.req.method === "GET" ? "" : (c.get("body") ?? "");
  // Both nodes log the request under the same id.
  const headers = { ...picked(HEADERS, (name) => c.req.header(name)), "x-request-id": c.get("requestId") };
  const { kind, person, by } = c.get("caller");
  const caller = { kind, ...(person && { person }), ...(by !== undefined && { by }) } as Asked["caller"];
  return { method: c.req.method, target: pathname + search, headers, body, caller };
}
