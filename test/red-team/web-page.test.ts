// Red team, position "web page": a page in the browser of the person who runs a server without a token. Everything that a page can
// send, as bytes, because no client library would send most of it.
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileScope } from "../program.js";
import { type Server, startServer } from "../server.js";

const atEnd = fileScope();

/** A request: what differs from a plain `POST /sessions` that would make a session and run a prompt. */
interface Attempt {
  readonly what: string;
  readonly line?: string;
  readonly host?: string | null;
  readonly type?: string | null;
  readonly headers?: readonly string[];
  readonly body?: string;
  /** Put after the request, on the same connection. */
  readonly next?: string;
}

const json = "application/json";
const from = (origin: string, rest: Partial<Attempt> = {}): Attempt => ({
  what: `a request from the origin ${JSON.stringify(origin)}`,
  headers: [`Origin: ${origin}`],
  ...rest,
});
const to = (host: string | null, what = `the Host ${JSON.stringify(host)}`): Attempt => ({ what, host });
const as = (type: string | null): Attempt => ({ what: `a body that calls itself ${type}`, type });

const HOSTS: readonly Attempt[] = [
  "evil.example",
  "evil.example:PORT",
  "localhost.evil.example:PORT",
  "127.0.0.1.evil.example:PORT",
  "127.0.0.1.nip.io:PORT",
  "localtest.me:PORT",
  "evil.example#localhost:PORT",
  "localhost@evil.example:PORT",
  "evil.example:PORT/localhost",
  "0.0.0.0:PORT",
  "0:PORT",
  "127.1:PORT",
  "2130706433:PORT",
  "0x7f000001:PORT",
  "[::ffff:127.0.0.1]:PORT",
  "[::]:PORT",
  "localhost.:PORT",
  "localhost%00.evil.example",
  "localhost,evil.example",
  "ⓛocalhost:PORT",
  "",
].map((host) => to(host));

const ATTEMPTS: readonly Attempt[] = [
  ...HOSTS,
  to(null, "no Host at all"),
  { what: "two Hosts", headers: ["Host: evil.example"] },
  {
    what: "a foreign Host that a proxy's header excuses",
    host: "evil.example",
    headers: ["X-Forwarded-Host: localhost", "Forwarded: host=localhost"],
  },
  { what: "a target that names another host", line: "POST http://evil.example/sessions HTTP/1.1" },
  {
    what: "a foreign Host under a target of this server",
    line: "POST http://127.0.0.1:PORT/sessions HTTP/1.1",
    host: "evil.example",
  },
  from("https://evil.example"),
  from("null"),
  from(""),
  from("file://"),
  from("http://localhost"),
  from("http://localhost:1"),
  {
    what: "our own origin, where the browser says that it is another site",
    headers: ["Origin: http://127.0.0.1:PORT", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"],
  },
  from("http://[::1]:PORT"),
  from("https://localhost:PORT"),
  from("http://localhost:PORT.evil.example"),
  from("chrome-extension://abcdefghijklmnop"),
  from("vscode-webview://x"),
  { what: "two Origins", headers: ["Origin: http://localhost", "Origin: https://evil.example"] },
  { what: "a part of another site's page", headers: ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"] },
  { what: "a part of a page of the same site", headers: ["Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"] },
  {
    what: "an image of every session",
    line: "GET /sessions HTTP/1.1",
    headers: ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"],
    body: "",
  },
  {
    what: "a script of what the server is",
    line: "GET /info HTTP/1.1",
    headers: ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"],
    body: "",
  },
  {
    what: "a form that is followed",
    type: "application/x-www-form-urlencoded",
    headers: ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"],
  },
  as("text/plain"),
  as("text/plain;charset=UTF-8"),
  as("text/plain; application/json"),
  as("application/x-www-form-urlencoded"),
  as("multipart/form-data; boundary=application/json"),
  as("application/csp-report"),
  as("application/reports+json"),
  as("text/json"),
  as("application/jsonp"),
  as("application/json-patch+json"),
  as("application/json, text/plain"),
  as(""),
  as(null),
  {
    what: "a preflight",
    line: "OPTIONS /sessions HTTP/1.1",
    headers: [
      "Origin: https://evil.example",
      "Access-Control-Request-Method: POST",
      "Access-Control-Request-Headers: content-type",
      "Access-Control-Request-Private-Network: true",
    ],
    body: "",
  },
  {
    what: "a WebSocket",
    line: "GET /sessions HTTP/1.1",
    headers: [
      "Origin: https://evil.example",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ],
    body: "",
  },
  {
    what: "an event stream",
    line: "GET /sessions/x/events HTTP/1.1",
    headers: ["Origin: https://evil.example", "Accept: text/event-stream"],
    body: "",
  },
  {
    what: "a method under another name",
    line: "GET /sessions?_method=POST HTTP/1.1",
    headers: ["X-HTTP-Method-Override: POST", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
  },
  { what: "a tunnel", line: "CONNECT 127.0.0.1:PORT HTTP/1.1", body: "" },
  { what: "a trace", line: "TRACE /sessions HTTP/1.1", headers: ["Origin: https://evil.example"], body: "" },
  { what: "two lengths", headers: ["Content-Length: 0", "Transfer-Encoding: chunked", "Origin: https://evil.example"] },
  { what: "a header that is folded", headers: ["X-A: b\r\n Origin: http://localhost", "Origin: https://evil.example"] },
  { what: "a second request after a refused one", type: "text/plain", next: "evil.example" },
];

const BODY = JSON.stringify({ prompt: "run `touch reached`", cwd: undefined });

async function send(port: number, attempt: Attempt): Promise<string> {
  const { line = "POST /sessions HTTP/1.1", type = json, headers = [], body = BODY } = attempt;
  const host = attempt.host === undefined ? "127.0.0.1:PORT" : attempt.host;
  const one = (name: string | null) =>
    [
      line,
      ...(name === null ? [] : [`Host: ${name}`]),
      ...(type === null || body === "" ? [] : [`Content-Type: ${type}`]),
      ...(body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
      ...headers,
      "",
      body,
    ].join("\r\n");
  const bytes = (one(host) + (attempt.next ? one(attempt.next) : "")).replaceAll("PORT", String(port));
  const socket = connect(port, "127.0.0.1");
  socket.setEncoding("latin1").setTimeout(3000, () => socket.destroy());
  let answer = "";
  socket.on("data", (data) => {
    answer += data;
    if (attempt.next === undefined || answer.split("HTTP/1.1 ").length > 2) socket.end();
  });
  socket.on("error", () => {});
  socket.write(bytes);
  await new Promise<void>((resolve) => socket.once("close", () => resolve()));
  return answer;
}

describe("a web page", () => {
  let server: Server;
  let port: number;
  let executed = 0;
  beforeAll(async () => {
    server = await startServer(["--mode", "auto"], {}, { atEnd });
    port = Number(new URL(server.address).port);
  });

  test("could do it, were it the person itself", async () => {
    const answer = await send(port, { what: "control", line: "POST /session HTTP/1.1", body: "{}" });
    expect(answer).toMatch(/^HTTP\/1.1 201 /);
    const { body } = await server.ask("GET /session");
    for (const id of body.sessions) await server.ask(`DELETE /sessions/${id}`);
  });

  test.each(ATTEMPTS)("does nothing by $what", async (attempt) => {
    const answer = await send(port, attempt);
    executed += 1;
    expect(answer).not.toMatch(/^HTTP\/1.1 (1|2)\d\d/m);
    expect(answer).not.toMatch(/access-control-allow-/i);
    expect(answer).not.toContain("session_id");
    expect((await server.ask("GET /session")).body.sessions).toEqual([]);
  });

  // With the page, that origin is the page itself.
  test("does nothing from our own origin where no page is served", async () => {
    const bare = await startServer(["--mode", "auto", "--no-page"]);
    const answer = await send(Number(new URL(bare.address).port), from("http://127.0.0.1:PORT"));
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect((await bare.ask("GET /session")).body.sessions).toEqual([]);
  });

  afterAll(() => {
    console.log(`attempts from a web page: ${executed} of ${ATTEMPTS.length} executed`);
    expect(executed).toBe(ATTEMPTS.length);
  });
});
