// The least a server of event streams can be: bare node:http, one journal file a session, one joined write per turn of the loop. A prompt
// that is a number is put to the model, and what it says is delivered once it is synced.
import { closeSync, fdatasync, mkdirSync, openSync, writeSync } from "node:fs";
import { Agent, request as ask, createServer } from "node:http";
import { join } from "node:path";

const [root, port = "0"] = process.argv.slice(2);
const sessions = new Map();
mkdirSync(root, { recursive: true });

async function burst(session, count, size) {
  const text = "x".repeat(size);
  const send = (frames) => {
    writeSync(session.file, frames);
    fdatasync(session.file, () => {});
    for (const reader of session.readers) reader.write(frames);
  };
  let frames = "";
  const add = (type, metadata) => {
    const id = ++session.last;
    const data = { seq: id, id: `evt-${id}`, type, turn: 0, metadata, ts: new Date().toISOString() };
    frames += `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  };
  for (let i = 0; i < count; i++) {
    add("text_delta", { text });
    if (i % 32 === 31) {
      send(frames);
      frames = "";
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  add("agent_result", { success: true });
  send(frames);
}

const agent = new Agent({ keepAlive: true });

async function converse(session, prompt) {
  const body = JSON.stringify({ stream: true, messages: [{ role: "user", content: prompt }] });
  const reply = await new Promise((resolve, reject) => {
    const sent = ask(`${process.env.OPENAI_BASE_URL}/chat/completions`, { method: "POST", agent }, resolve);
    sent.on("error", reject).end(body);
  });
  for await (const text of reply.setEncoding("utf8")) {
    const words = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word);
    if (words.length === 0) continue;
    const id = ++session.last;
    const frame = `id: ${id}\nevent: text_delta\ndata: ${JSON.stringify({ seq: id, metadata: { text: words.join("") } })}\n\n`;
    writeSync(session.file, frame);
    await new Promise((resolve) => fdatasync(session.file, resolve));
    for (const reader of session.readers) reader.write(frame);
  }
}

const server = createServer((request, response) => {
  const json = (status, body) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  const [, id, action] = /^\/sessions\/([^/]+)\/(\w+)$/.exec(request.url) ?? [];
  if (request.url === "/health") return json(200, { status: "ok" });
  if (action === "events") {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    const { readers } = sessions.get(id);
    readers.add(response);
    return response.on("close", () => readers.delete(response));
  }
  let body = "";
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => {
    if (action === "turns") {
      const { prompt } = JSON.parse(body);
      const [, count, size] = prompt.split(" ");
      void (count ? burst(sessions.get(id), Number(count), Number(size)) : converse(sessions.get(id), prompt));
      return json(202, { session_id: id });
    }
    const session_id = `s${sessions.size}`;
    const file = openSync(join(root, session_id), "a");
    sessions.set(session_id, { file, readers: new Set(), last: 0 });
    json(201, { session_id });
  });
});
server.listen(Number(port), "127.0.0.1", () => process.send?.({ port: server.address().port }));
process.once("exit", () => {
  for (const { file } of sessions.values()) closeSync(file);
});
