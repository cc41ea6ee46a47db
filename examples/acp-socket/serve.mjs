import { createServer } from "node:net";
import { serveAcp } from "@chimera/acp-server";
import { createMemoryStore } from "@chimera/event-store";
import { streamChannel } from "@chimera/ndjson-rpc";
import { createSessions } from "@chimera/session";

async function* agent({ prompt }) {
  yield { type: "text_delta", metadata: { text: `you said: ${prompt.text}` } };
}
const program = { name: "parrot", title: "Parrot", version: "1.0.0" };
const sessions = createSessions({ agent, store: createMemoryStore(), prefix: "parrot", defaults: { model: "none" } });
const accept = (socket) => void serveAcp({ channel: streamChannel(socket, socket), sessions, program });
export const serve = (path) => createServer(accept).listen(path);
