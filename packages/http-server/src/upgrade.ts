/** A request for a WebSocket, asked of the app like any other: Host, Origin and token are looked at before the first byte of it. */
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

/** A browser cannot set headers for a WebSocket: its token comes among the protocols, as `bearer.` and the token in base64url. */
function headersOf({ headers }: IncomingMessage): Headers {
  const known = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  const token = /(?:^|,)\s*bearer\.([\w-]+)/.exec(headers["sec-websocket-protocol"] ?? "")?.[1];
  if (token !== undefined && headers.authorization === undefined)
    known.push(["authorization", `Bearer ${Buffer.from(token, "base64url").toString("utf8")}`]);
  return new Headers(known);
}

const NOT_HERE: Refusal = { status: 400, error: "bad_upgrade", message: "the only WebSocket here is that of GET /acp" };

/** An answer for which no other protocol is needed may be a stream without an end. */
async function refuse(incoming: IncomingMessage, socket: Duplex, response: Response): Promise<void> {
  if (response.status < 400) {
    await response.body?.cancel();
    return refuseOn(socket, NOT_HERE, incoming);
  }
  const headers = [...response.headers].filter(([name]) => name !== "content-length");
  const body = Buffer.from(await response.arrayBuffer());
  writeOn(socket, response.status, headers, body);
}
