// All it takes to put an agent on the wire: a log, undo, sessions, then HTTP and ACP over the same sessions.
import { join } from "node:path";
import { serveAcp } from "@chimera/acp-server";
import { createFileStore } from "@chimera/event-store";
import { createApp } from "@chimera/http-server";
import { listen } from "@chimera/http-server/node";
import { streamChannel } from "@chimera/ndjson-rpc";
import { createSessions, createSlashPalette } from "@chimera/session";
import { createSnapshotStore } from "@chimera/snapshot-store";

const program = { name: "notes", title: "Notes", version: "1.0.0" };

export async function serveAgent({ agent, model, home, cwd }) {
  const store = createFileStore({ root: home });
  const palette = createSlashPalette({ home });
  const sessions = createSessions({
    agent,
    store,
    snapshots: createSnapshotStore({ root: join(home, "snapshots") }),
    prefix: program.name,
    defaults: { model },
    commands: palette,
  });
  const http = await listen(createApp({ ...program, sessions, palette, defaultCwd: cwd }), {
    host: "127.0.0.1",
    port: 0,
  });
  return {
    url: `http://127.0.0.1:${http.port}`,
    /** ACP on any two byte streams: process.stdin and process.stdout, a socket, a test. */
    acp: (input, output) => serveAcp({ channel: streamChannel(input, output), sessions, program }),
    async close() {
      await http.close();
      await sessions.shutdown();
      await store.close();
    },
  };
}
