/** Passes a request for a WebSocket to the app like any other, so that Host, Origin and token are checked before its first byte. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { AppEnv } from "./deps.js";
import type { Refusal } from "./outside-app.js";
import { refusalOf, refuseOn, writeOn } from "./unreadable.js";

export function createUpgrade(
  fetch: (request: Request, env: AppEnv["Bindings"]) => Response | Promise<Response>,
  keep: (socket: Duplex) => void,
): (incoming: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void> {
  return async (incoming, socket, head) => {
    let isTaken = false;
    const accept = () => {
      isTaken = true;
      keep(socket);
    };
    try {
      const scheme = "encrypted" in socket ? "https" : "http";
      const request = new Request(`${scheme}://${incoming.headers.host}${incoming.url}`, {
        headers: headersOf(incoming),
      });
      const response = await fetch(request, { incoming, upgrade: { socket, head, accept } });
      if (!isTaken) await refuse(incoming, socket, response);
    } catch {
      if (!isTaken) refuseOn(socket, refusalOf(incoming), incoming);
    }
  };
}

// --- internal ---

/**
 * Every header of a request: Node's `headers` leave out the second Host or token. A browser cannot set headers for a WebSocket: it sends its
 * token as a protocol, `bearer.` and base64url.
 */
function headersOf({ headers, headersDistinct }: IncomingMessage): Headers {
  const all = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) for (const one of values) all.append(name, one);
  const token = /(?:^|,)\s*bearer\.([\w-]+)/.exec(headers["sec-websocket-protocol"] ?? "")?.[1];
  // No token holds what no header may hold, so that it is a wrong one.
  const given = Buffer.from(token ?? "", "base64url")
    .toString("latin1")
    .replace(/[\0\r\n]/g, " ");
  if (token !== undefined && !all.has("authorization")) all.set("authorization", `Bearer ${given}`);
  return all;
}

const NOT_HERE: Refusal = { status: 400, error: "bad_upgrade", message: "the only WebSocket here is that of GET /acp" };

/** Answers a WebSocket request that was not accepted. The answer of another route is cancelled, because it may be an endless stream. */
async function refuse(incoming: IncomingMessage, socket: Duplex, response: Response): Promise<void> {
  if (response.status < 400) {
    await response.body?.cancel();
    return refuseOn(socket, NOT_HERE, incoming);
  }
  const headers = [...response.headers].filter(([name]) => name !== "content-length");
  const body = Buffer.from(await response.arrayBuffer());
  writeOn(socket, response.status, headers, body);
}
