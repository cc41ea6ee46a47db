// One attachment of a program: speaks ACP over its WebSocket, from where the board stopped last time.
import { createConnection } from "@chimera/ndjson-rpc";
import { createWebSocketStream } from "ws";

export async function linkProgram(socket, board) {
  const stream = createWebSocketStream(socket, { decodeStrings: false });
  stream.on("error", () => {});
  const connection = createConnection({
    input: stream,
    output: stream,
    methods: {
      "session/update": {
        handle: ({ update, _meta }) => {
          const { "chimera.dev/eventId": eventId, "chimera.dev/origin": origin } = _meta ?? {};
          // A message without a number does not belong to the log.
          if (eventId) board.add(update, { eventId, origin });
        },
      },
      "session/request_permission": {
        handle: async (params, { signal }) => {
          const optionId = await board.ask(params, signal);
          return { outcome: optionId === null ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
        },
      },
    },
    onClose: () => board.detach(connection),
  });
  const clientCapabilities = { session: { notices: {}, compaction: {} } };
  await connection.request("initialize", { protocolVersion: 1, clientCapabilities });
  await connection.request("_chimera.dev/session/replay", { sessionId: board.id, sinceEventId: board.cursor });
  board.attach(connection);
}
