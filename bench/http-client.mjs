// A server on loopback, asked and timed by a client that does as little as it can itself.
import { once } from "node:events";
import { get, request } from "node:http";
import { createServer } from "node:net";

/** Whether the server answers a probe now, on a connection of its own. A server that just began may take a probe and never answer it. */
export function isHealthy(port, path = "/health") {
  return new Promise((resolve) => {
    const asked = get({ port, host: "127.0.0.1", path, agent: false, timeout: 1000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(false));
  });
}

/** A port that nobody has at the moment. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

export function post(port, path, body, agent = false) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const sent = request({ port, host: "127.0.0.1", method: "POST", path, agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => {
        if (response.statusCode < 300) resolve(JSON.parse(text));
        else reject(new Error(`POST ${path} answered ${response.statusCode}: ${text}`));
      });
    });
    sent.on("error", reject);
    sent.end(JSON.stringify(body));
  });
}

/** A reader of a session's events, from the first on or only of those to come: `sees(event)` resolves when one of that name has. */
export async function openReader(port, id, from = "first") {
  const headers = from === "first" ? {} : { "last-event-id": String(Number.MAX_SAFE_INTEGER) };
  const asked = get({ port, host: "127.0.0.1", path: `/sessions/${id}/events`, agent: false, headers });
  const [response] = await once(asked, "response");
  response.on("error", () => {});
  let wanted = null;
  let tail = "";
  response.setEncoding("latin1").on("data", (chunk) => {
    if (wanted !== null && (tail + chunk).includes(wanted.text)) wanted.resolve();
    tail = chunk.slice(-20);
  });
  const ended = once(response, "close");
  const sees = (event) =>
    new Promise((resolve, reject) => {
      wanted = { text: `event: ${event}`, resolve };
      ended.then(() => reject(new Error(`the events of ${id} ended before ${event}`)));
    });
  return { sees, ended, close: () => response.destroy() };
}

/** Milliseconds from a prompt to the moment at which each of so many readers has seen the end of its turn. */
export async function timeToReaders(port, readers, prompt) {
  const { session_id: id } = await post(port, "/session", {});
  const streams = await Promise.all(Array.from({ length: readers }, () => openReader(port, id)));
  const started = performance.now();
  const ends = streams.map((stream) => stream.sees("agent_result"));
  await post(port, `/sessions/${id}/turns`, { prompt });
  await Promise.all(ends);
  const elapsed = performance.now() - started;
  for (const stream of streams) stream.close();
  return elapsed;
}
