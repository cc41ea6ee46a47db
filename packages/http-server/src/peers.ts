/** Sessions that another node has: what is asked of one here is done there, once, and answered from here. */
import { setTimeout as pause } from "node:timers/promises";
import { heldElsewhere } from "@chimera/session";
import type { Context } from "hono";
import type { AppEnv, Caller, Peers } from "./deps.js";
import type { Handler } from "./routes/route.js";

/** How often a session that changes hands is looked for again, and after how long. */
const ATTEMPTS = 40;
const AGAIN_MS = 50;

/** The handler's own answer, or that of the node which holds the session. */
export async function answerAnywhere(c: Context<AppEnv>, handle: Handler, peers: Peers | undefined): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await handle(c);
    } catch (error) {
      const id = heldElsewhere(error);
      if (peers === undefined || c.env?.forwarded || id === null || attempt > ATTEMPTS) throw error;
      const reply = await peers.ask(id, await describe(c));
      if (reply !== null) {
        const { status, type, headers, body } = JSON.parse(reply) as Answer;
        // The other node did nothing when it found that it does not have the session any more.
        if (status !== 409 || !MOVED.has(JSON.parse(body).error))
          return new Response(body === "" ? null : body, {
            status,
            headers: { ...headers, ...(type !== null && { "Content-Type": type }) },
          });
      }
      await pause(AGAIN_MS);
    }
  }
}

/** Does what another node asks: it has let the caller in. */
export function createAnswerer(
  fetch: (request: Request, env: AppEnv["Bindings"]) => Response | Promise<Response>,
): (request: string) => Promise<string> {
  return async (request) => {
    const { method, target, headers: given, body, caller } = JSON.parse(request) as Asked;
    const sent = { ...given, Host: "localhost", ...(body !== "" && { "Content-Type": "application/json" }) };
    const asked = new Request(`http://localhost${target}`, { method, headers: sent, ...(body !== "" && { body }) });
    const response = await fetch(asked, { forwarded: caller });
    const { status } = response;
    const type = response.headers.get("Content-Type");
    const headers = picked(ANSWERED, (name) => response.headers.get(name));
    return JSON.stringify({ status, type, headers, body: await response.text() } satisfies Answer);
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
  readonly type: string | null;
  /** Absent where the other node is older. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

const MOVED: ReadonlySet<string> = new Set(["session_claimed", "session_elsewhere"]);
/** What a route may read of a request besides its target and body. */
const HEADERS = ["prefer", "idempotency-key"];
/** What an answer says besides its type and body, where it says so. Every other header is that of the node which was asked. */
const ANSWERED = ["retry-after"];

function picked(names: readonly string[], read: (name: string) => string | null | undefined): Record<string, string> {
  const found = names.map((name) => [name, read(name) ?? ""] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== ""));
}

async function describe(c: Context<AppEnv>): Promise<string> {
  const { pathname, search } = new URL(c.req.url);
  const body = c.req.method === "GET" ? "" : (c.get("body") ?? "");
  // Both nodes know the request by one id.
  const headers = { ...picked(HEADERS, (name) => c.req.header(name)), "x-request-id": c.get("requestId") };
  const { kind, person, by } = c.get("caller");
  const caller = { kind, ...(person && { person }), ...(by !== undefined && { by }) } as Asked["caller"];
  return JSON.stringify({ method: c.req.method, target: pathname + search, headers, body, caller } satisfies Asked);
}
