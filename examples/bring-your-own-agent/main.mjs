// Runs the agent behind both protocols and checks what it got for free: streaming, permissions, replay, undo, and one
// session in an editor and over HTTP at once. The model is a loopback server that speaks Ollama's own wire format.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { createConnection } from "@chimera/ndjson-rpc";
import { createNoteAgent } from "./agent.mjs";
import { serveAgent } from "./glue.mjs";

const model = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const answered = JSON.parse(body).messages.some(({ role }) => role === "tool");
  const call = { function: { name: "write_note", arguments: { file: "note.txt", text: "remember" } } };
  const parts = answered
    ? [{ content: "The note " }, { content: "is written." }]
    : [{ content: "Writing. " }, { content: "", tool_calls: [call] }];
  response.setHeader("content-type", "application/x-ndjson");
  for (const part of parts)
    response.write(`${JSON.stringify({ message: { role: "assistant", ...part }, done: false })}\n`);
  response.end(`${JSON.stringify({ message: { role: "assistant", content: "" }, done: true })}\n`);
});
await new Promise((resolve) => model.listen(0, "127.0.0.1", resolve));

const home = mkdtempSync(join(tmpdir(), "notes-"));
const agent = createNoteAgent({ host: `http://127.0.0.1:${model.address().port}`, model: "toy" });
const server = await serveAgent({ agent, model: "toy", home: join(home, "data"), cwd: home });

// An editor: it opens a session, allows the note, and gets the answer streamed.
const [toServer, toEditor] = [new PassThrough(), new PassThrough()];
server.acp(toServer, toEditor);
const updates = [];
const editor = createConnection({
  input: toEditor,
  output: toServer,
  methods: {
    "session/update": { handle: ({ update }) => void updates.push(update) },
    "session/request_permission": { handle: () => ({ outcome: { outcome: "selected", optionId: "allow_once" } }) },
  },
});
await editor.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
const { sessionId } = await editor.request("session/new", { cwd: home, mcpServers: [] });
const prompt = [{ type: "text", text: "write a note" }];
const { stopReason } = await editor.request("session/prompt", { sessionId, prompt });
assert.equal(stopReason, "end_turn");
assert.equal(readFileSync(join(home, "note.txt"), "utf8"), "remember");
assert.ok(updates.some(({ sessionUpdate }) => sessionUpdate === "tool_call"));

// The same session over HTTP, from the beginning and from a cursor.
const events = async (cursor) => {
  const headers = cursor ? { "last-event-id": String(cursor) } : {};
  const text = await fetch(`${server.url}/sessions/${sessionId}/events`, { headers }).then((reply) => reply.text());
  return [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
};
const all = await events();
assert.deepEqual(
  await events(3),
  all.filter((id) => id > 3),
);

// Undo, from HTTP: the file goes, and the editor would see it in the log.
const undone = await fetch(`${server.url}/sessions/${sessionId}/undo`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: "{}",
}).then((reply) => reply.json());
assert.equal(undone.message, "/undo: rewound 1 turn, 1 file restored (0 remaining)");
assert.equal(existsSync(join(home, "note.txt")), false);

await editor.close();
await server.close();
model.close();
model.closeAllConnections();
rmSync(home, { recursive: true });
console.log(`ok: ${all.length} records, ${updates.length} updates, permission, replay and undo`);
