// ACP on a raw socket: `serve` is all an embedder writes, in fifteen lines. The rest is a client that checks it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection, streamChannel } from "@chimera/ndjson-rpc";
import { serve } from "./serve.mjs";

const directory = mkdtempSync(join(tmpdir(), "acp-socket-"));
const path = join(directory, "socket");
const server = serve(path);
await once(server, "listening");
const socket = connect(path);
const said = [];
const editor = createConnection({
  channel: streamChannel(socket, socket),
  methods: {
    "session/update": { handle: ({ update }) => void said.push(update.content?.text) },
  },
});
await editor.request("initialize", { protocolVersion: 1 });
const { sessionId } = await editor.request("session/new", { cwd: "/", mcpServers: [] });
const prompt = [{ type: "text", text: "good morning" }];
const { stopReason } = await editor.request("session/prompt", { sessionId, prompt });
assert.equal(stopReason, "end_turn");
assert.ok(said.includes("you said: good morning"));
console.log("an editor spoke ACP over a socket");
await editor.close();
server.close();
rmSync(directory, { recursive: true });
