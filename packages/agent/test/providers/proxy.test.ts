import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { isAgentError } from "../../src/index.js";
import { createPost } from "../../src/providers/index.js";
import { proxyFor } from "../../src/providers/proxy.js";

const proxy = "http://proxy:3128";

describe("the proxy of an address", () => {
  it.each<[string, Record<string, string>, string | null]>([
    ["https://api.x.com/v1", { HTTPS_PROXY: proxy }, `${proxy}/`],
    ["https://api.x.com/v1", { https_proxy: "proxy:3128" }, `${proxy}/`],
    ["https://api.x.com/v1", { https_proxy: "https://u:p@proxy" }, "https://u:p@proxy/"],
    ["https://api.x.com/v1", { https_proxy: proxy, HTTPS_PROXY: "http://other" }, `${proxy}/`],
    ["https://api.x.com/v1", { HTTP_PROXY: proxy }, null],
    ["http://gpu/v1", { HTTP_PROXY: proxy }, `${proxy}/`],
    ["http://gpu/v1", { HTTPS_PROXY: proxy }, null],
    ["https://api.x.com/v1", {}, null],
    ["https://api.x.com/v1", { HTTPS_PROXY: "" }, null],
    // Loopback addresses never use a proxy.
    ["http://127.0.0.1:11434/api", { HTTP_PROXY: proxy }, null],
    ["http://localhost:11434/api", { HTTP_PROXY: proxy }, null],
    ["http://[::1]:11434/api", { HTTP_PROXY: proxy }, null],
    ["http://my.localhost/api", { HTTP_PROXY: proxy }, null],
    ...(
      [
        ["*", true],
        ["x.com", true],
        [".x.com", true],
        ["*.x.com", true],
        ["API.X.COM", true],
        ["other, x.com", true],
        ["other x.com:443", true],
        ["x.com:8443", false],
        ["ax.com", false],
        ["api.x.com.evil", false],
        ["com", true],
        ["", false],
        ["10.0.0.0/8", false],
        ["not/a/range", false],
      ] as const
    ).map(([NO_PROXY, exempt]): [string, Record<string, string>, string | null] => [
      "https://api.x.com/v1",
      { HTTPS_PROXY: proxy, NO_PROXY },
      exempt ? null : `${proxy}/`,
    ]),
    ["http://10.1.2.3/v1", { HTTP_PROXY: proxy, NO_PROXY: "10.0.0.0/8" }, null],
    ["http://11.1.2.3/v1", { HTTP_PROXY: proxy, NO_PROXY: "10.0.0.0/8,10.0.0.0/99" }, `${proxy}/`],
    ["http://10.1.2.3:8000/v1", { HTTP_PROXY: proxy, NO_PROXY: "10.1.2.3:8000" }, null],
    ["http://[fd00::5]/v1", { HTTP_PROXY: proxy, NO_PROXY: "fd00::/8" }, null],
    ["http://[fd00::5]/v1", { HTTP_PROXY: proxy, NO_PROXY: "fd00::5" }, null],
  ])("of %s with %o", (url, env, expected) => {
    expect(proxyFor(new URL(url), env)?.href ?? null).toBe(expected);
  });

  it.each(["socks5://proxy:1080", "ftp://proxy", "http://", "http://a b"])("cannot be %s", (HTTPS_PROXY) => {
    expect(() => proxyFor(new URL("https://api.x.com"), { HTTPS_PROXY })).toThrow(/not an http\(s\) address/);
  });
});

describe("a request for an http server", () => {
  it("is sent to the proxy, with its login, and the connection is reused", async () => {
    const seen: IncomingMessage[] = [];
    let connections = 0;
    const server = createServer((request, response) => {
      seen.push(request);
      response.end("here");
    });
    server.on("connection", () => connections++);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const post = createPost({ env: { HTTP_PROXY: `http://me:p%40ss@127.0.0.1:${port}` } });
    for (let n = 0; n < 2; n++) {
      const { signal } = new AbortController();
      const reply = await post({ url: "http://model.invalid:81/v1/x?y", headers: { a: "b" }, body: "{}", signal });
      let text = "";
      for await (const chunk of reply.chunks) text += chunk;
      expect(text).toBe("here");
    }
    expect(connections).toBe(1);
    expect(seen[0]).toMatchObject({
      url: "http://model.invalid:81/v1/x?y",
      headers: {
        host: "model.invalid:81",
        a: "b",
        "proxy-authorization": `Basic ${Buffer.from("me:p@ss").toString("base64")}`,
      },
    });
  });
});

describe("a tunnel to an https server", () => {
  const ask = async (answer: string) => {
    const proxy = createServer();
    proxy.on("connect", (_request, socket) => socket.end(answer));
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void proxy.close());
    const { port } = proxy.address() as AddressInfo;
    const post = createPost({ env: { HTTPS_PROXY: `http://127.0.0.1:${port}` } });
    const { signal } = new AbortController();
    return post({ url: "https://model.invalid/v1", headers: {}, body: "{}", signal }).catch((error: unknown) => error);
  };

  it.each([
    ["HTTP/1.1 407 No\r\n\r\n", "unauthorized", "wants a user and a password"],
    ["HTTP/1.1 403 No\r\n\r\n", "model_unavailable", "does not connect to model.invalid:443: it answered 403"],
    ["", "connection_lost", "lost the connection to the proxy"],
    ["HTTP/1.1 200 OK\r\n\r\nnot TLS", "connection_lost", "lost the connection to model.invalid"],
  ])("that is answered %j ends with a typed error", async (answer, code, words) => {
    const error = await ask(answer);
    expect(isAgentError(error) && error.code).toBe(code);
    expect(String(error)).toContain(words);
  });

  it("fails when the proxy does not answer", async () => {
    const post = createPost({ env: { HTTPS_PROXY: "http://127.0.0.1:1" } });
    const { signal } = new AbortController();
    await expect(post({ url: "https://model.invalid/", headers: {}, body: "", signal })).rejects.toThrow(
      "lost the connection to the proxy 127.0.0.1:1: ECONNREFUSED",
    );
  });
});
