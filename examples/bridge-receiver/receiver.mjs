// The receiver: three calls for programs, one page and its WebSocket for people.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer as createTlsServer } from "node:https";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { WebSocketServer } from "ws";
import { createBoard } from "./board.mjs";
import { linkProgram } from "./program-link.mjs";
import { linkWatcher } from "./watcher-link.mjs";

const MAX_SESSIONS = 100;
/** A session nobody is connected to is forgotten after this; its program still has all of it. */
const FORGET_MS = 10 * 60_000;
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

const PAGE = {
  "page.css": "text/css",
  "page.js": "text/javascript",
  "render.js": "text/javascript",
};
const SAFE = {
  "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * @param {{ token: string, port?: number, hostname?: string, publicUrl?: string, tls?: { key: string, cert: string } }} options
 * @returns {Promise<{ url: string, close(): Promise<void> }>}
 */
export async function startReceiver({ token, port = 0, hostname = "127.0.0.1", publicUrl, tls }) {
  if (!token) throw new Error("a token is needed: programs show it when they register");
  const boards = new Map();
  const app = createApp({ boards, token, base: () => publicUrl ?? url });
  const server = await listen(app, { port, hostname, tls });
  const url = `${tls ? "https" : "http"}://${hostname}:${server.address().port}`;
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });

  server.on("upgrade", (request, socket, head) => {
    const [, kind, id] = request.url.split("?", 1)[0].split("/");
    const board = boards.get(id);
    const refuse = (status) => socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
    socket.on("error", () => {});
    if (kind === "ws" && !bearer(request.headers.authorization, token)) return refuse("401 Unauthorized");
    if (!board || !["ws", "watch"].includes(kind)) return refuse("404 Not Found");
    sockets.handleUpgrade(request, socket, head, (open) => {
      if (kind === "watch") linkWatcher(open, board, same);
      else linkProgram(open, board).catch(() => open.close());
    });
  });
  const sweep = setInterval(() => {
    for (const [id, board] of boards) if (board.idleMs > FORGET_MS) boards.delete(id);
  }, 60_000);

  return {
    url,
    async close() {
      clearInterval(sweep);
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function createApp({ boards, token, base }) {
  const app = new Hono();
  app.use("/api/*", bodyLimit({ maxSize: 64 * 1024 }), async (c, next) => {
    if (!bearer(c.req.header("authorization"), token)) return c.json({ error: "unauthorized" }, 401);
    await next();
  });
  app.post("/api/sessions", async (c) => {
    const { session_id: id, model, sandbox, approval, cwd } = await c.req.json();
    if (!/^[\w.-]{1,128}$/.test(String(id))) return c.json({ error: "bad_session_id" }, 400);
    const board = boards.get(id) ?? createBoard(id, keyOf(id, token));
    if (!boards.has(id) && boards.size >= MAX_SESSIONS) return c.json({ error: "too_many_sessions" }, 503);
    boards.set(id, board);
    board.learn({ model, sandbox, approval, cwd });
    const ui_url = `${base()}/s/${id}#${board.key}`;
    return c.json({ ui_url, ws_url: `${base().replace(/^http/, "ws")}/ws/${id}` }, 201);
  });
  app.post("/api/sessions/:id/heartbeat", async (c) => {
    const board = boards.get(c.req.param("id"));
    if (!board) return c.json({ error: "unknown_session" }, 404);
    const { sandbox, approval, cost_total_usd } = await c.req.json();
    board.learn({ sandbox, approval, cost_total_usd });
    return c.json({});
  });
  app.delete("/api/sessions/:id", (c) => {
    boards.get(c.req.param("id"))?.end();
    boards.delete(c.req.param("id"));
    return c.body(null, 204);
  });
  app.get("/s/:id", async (c) => c.html(await pageFile("index.html"), 200, SAFE));
  app.get("/page/:file", async (c) => {
    const type = Object.hasOwn(PAGE, c.req.param("file")) && PAGE[c.req.param("file")];
    if (!type) return c.notFound();
    return c.body(await pageFile(c.req.param("file")), 200, { ...SAFE, "content-type": type });
  });
  app.onError((error, c) => c.json({ error: error instanceof SyntaxError ? "bad_json" : "failed" }, 400));
  return app;
}

function listen(app, { port, hostname, tls }) {
  const how = tls ? { createServer: createTlsServer, serverOptions: tls } : {};
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, port, hostname, ...how }, () => resolve(server));
    server.once("error", reject);
  });
}

const pageFile = (name) => readFile(new URL(`page/${name}`, import.meta.url), "utf8");

/** The same after a restart, so that an open page finds its way back. */
const keyOf = (id, token) => createHmac("sha256", token).update(id).digest("base64url").slice(0, 24);

const bearer = (header, token) => same(header, `Bearer ${token}`);

/** Takes the same time whatever the given text. */
function same(given, expected) {
  const digest = (text) => createHash("sha256").update(String(text)).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
