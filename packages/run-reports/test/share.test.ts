import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { isReportError, type ShareOptions, share, type TranscriptSource } from "../src/index.js";
import { ID, prompt, sourceOf, text } from "./fixture.js";

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "share-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const options = (more: Partial<ShareOptions> = {}): ShareOptions => ({
  sink: "file",
  format: "md",
  root: join(home, "shares"),
  ...more,
});
const session = (): TranscriptSource => sourceOf([prompt("hello"), text("hi there")]);
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "no error",
    (error: unknown) => (isReportError(error) ? error.code : String(error)),
  );

describe("to a file", () => {
  it("writes shares/<id>.<format>, readable by its owner only, and returns the path", async () => {
    const shared = await share(session(), options());
    expect(shared).toEqual({ sink: "file", format: "md", path: join(home, "shares", `${ID}.md`) });
    expect(await readFile(join(home, "shares", `${ID}.md`), "utf8")).toContain("hi there");
    expect((await stat(join(home, "shares", `${ID}.md`))).mode & 0o777).toBe(0o600);
    expect((await stat(join(home, "shares"))).mode & 0o777).toBe(0o700);
  });

  it.each(["../escape", "a/b", "..", ".hidden", "", "a\0b", "C:\\x", `${"a".repeat(200)}`, "con/../x", "é"])(
    "refuses to name a file after %j",
    async (id) => {
      expect(await codeOf(share({ ...session(), id }, options()))).toBe("not_found");
      expect(await readdir(home)).toEqual(["shares"]);
    },
  );

  it("replaces a link instead of writing through it", async () => {
    const victim = join(home, "shares", "victim.txt");
    await writeFile(victim, "precious");
    await rm(join(home, "shares", `${ID}.json`), { force: true });
    await symlink(victim, join(home, "shares", `${ID}.json`));
    await share(session(), options({ format: "json" }));
    expect(await readFile(victim, "utf8")).toBe("precious");
    expect(await readFile(join(home, "shares", `${ID}.json`), "utf8")).toContain('"session_id"');
  });

  it("leaves nothing behind when the log cannot be read to its end", async () => {
    const events = (async function* () {
      yield* session().events;
      throw new Error("damaged");
    })();
    const root = join(home, "other");
    expect(await codeOf(share({ ...session(), events }, options({ root })))).toBe("write_failed");
    expect(await readdir(root)).toEqual([]);
    await rm(root, { recursive: true });
  });
});

describe("to the caller", () => {
  it("returns the body", async () => {
    const shared = await share(session(), options({ sink: "stdout", format: "json" }));
    expect(shared).toMatchObject({ sink: "stdout", format: "json" });
    expect(JSON.parse("body" in shared ? shared.body : "")).toMatchObject({ session_id: ID });
  });

  it("refuses unknown sinks and formats", async () => {
    expect(await codeOf(share(session(), options({ sink: "ftp" as never })))).toBe("invalid_sink");
    expect(await codeOf(share(session(), options({ format: "pdf" as never })))).toBe("invalid_format");
  });
});

describe("to a collector", () => {
  let server: Server;
  let base: string;
  let seen: { request: IncomingMessage; body: string }[] = [];
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      seen.push({ request, body });
      const { pathname } = new URL(request.url ?? "/", "http://x");
      if (pathname === "/redirect") response.writeHead(302, { location: `${base}/landed` }).end();
      else if (pathname === "/huge") response.writeHead(200).end("x".repeat(3 * 1024 * 1024));
      else if (pathname === "/slow") response.writeHead(200).write("…");
      else if (pathname === "/500") response.writeHead(500).end("internal secret");
      else response.writeHead(201).end('{"url":"https://example.com/1"}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    seen = [];
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const post = (path: string, more: Partial<ShareOptions> = {}, source = session()) =>
    share(source, options({ sink: "http", url: `${base}${path}`, trusted: true, ...more }));

  it("posts the document with its type and length, and returns the reply", async () => {
    const shared = await post("/api/shares", { format: "html" });
    expect(shared).toEqual({ sink: "http", format: "html", status: 201, reply: '{"url":"https://example.com/1"}' });
    const [{ request, body }] = seen as [(typeof seen)[0]];
    expect(request.method).toBe("POST");
    expect(request.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-length": String(Buffer.byteLength(body)),
      "user-agent": "chimera-otter-share/1",
    });
    expect(body).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
  });

  it("streams a long document", async () => {
    const long = sourceOf(Array.from({ length: 3000 }, (_, i) => prompt(`${i} ${"word ".repeat(200)}`)));
    expect(await post("/", { format: "json" }, long)).toMatchObject({ status: 201 });
    expect(seen[0]?.request.headers["transfer-encoding"]).toBe("chunked");
    expect(JSON.parse(seen[0]?.body ?? "").events).toHaveLength(3000);
  });

  it("does not follow redirects", async () => {
    expect(await codeOf(post("/redirect"))).toBe("upstream_failed");
    expect(seen.map(({ request }) => request.url)).toEqual(["/redirect"]);
  });

  it("does not reveal the text of a failed reply", async () => {
    const error = await post("/500").catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "upstream_failed", message: "the collector answered 500" });
    expect(JSON.stringify(error)).not.toContain("internal secret");
  });

  it("reads a bounded part of the reply", async () => {
    const shared = await post("/huge");
    expect("reply" in shared && shared.reply.length).toBe(1024 * 1024);
  });

  it("can wait 30 days, and refuses an invalid time before anything is sent", async () => {
    expect(await post("/huge", { timeoutMs: 30 * 24 * 3600 * 1000 })).toHaveProperty("reply");
    await expect(post("/huge", { timeoutMs: Number.NaN })).rejects.toThrow(/timeoutMs takes a finite number/);
  });

  it("stops at the time limit, on request, and when no server answers", async () => {
    expect(await codeOf(post("/slow", { timeoutMs: 100 }))).toBe("upstream_failed");
    expect(await codeOf(post("/slow", { signal: AbortSignal.timeout(50) }))).toBe("upstream_failed");
    expect(await codeOf(post("/", { signal: AbortSignal.abort() }))).toBe("upstream_failed");
    expect(await codeOf(post("", { url: "http://127.0.0.1:1/" }))).toBe("upstream_failed");
  });

  describe("with an address from a stranger", () => {
    const port = () => new URL(base).port;
    const tryUrl = (url: string, resolve?: ShareOptions["resolve"]) =>
      codeOf(
        share(session(), options({ sink: "http", url: url.replace("PORT", port()), ...(resolve && { resolve }) })),
      );

    it.each([
      "http://127.0.0.1:PORT/",
      "http://127.1:PORT/",
      "http://127.0.1:PORT/",
      "http://2130706433:PORT/",
      "http://0x7f.0.0.1:PORT/",
      "http://0177.0.0.01:PORT/",
      "http://①②⑦.⓪.⓪.①:PORT/",
      "http://127.0.0.1.:PORT/",
      "http://0:PORT/",
      "http://0.0.0.0:PORT/",
      "http://[::]:PORT/",
      "http://[::1]:PORT/",
      "http://[0:0:0:0:0:0:0:1]:PORT/",
      "http://[::127.0.0.1]:PORT/",
      "http://[::ffff:127.0.0.1]:PORT/",
      "http://[::ffff:7f00:1]:PORT/",
      "http://[64:ff9b::7f00:1]:PORT/",
      "http://[64:ff9b:1::7f00:1]:PORT/",
      "http://[2002:7f00:1::]:PORT/",
      "http://[2001:0:7f00:1::]:PORT/",
      "http://[fe80::1]:PORT/",
      "http://[fec0::1]:PORT/",
      "http://[fc00::1]:PORT/",
      "http://[fd00:ec2::254]/latest/meta-data",
      "http://[ff02::1]:PORT/",
      "http://10.0.0.1/",
      "http://172.31.255.255/",
      "http://192.168.1.1/",
      "http://100.64.0.1/",
      "http://100.100.100.200/latest/meta-data",
      "http://169.254.169.254/latest/meta-data/",
      "http://168.63.129.16/metadata",
      "http://192.0.0.192/",
      "http://198.18.0.1/",
      "http://224.0.0.1/",
      "http://240.0.0.1/",
      "http://255.255.255.255/",
      "http://localhost:PORT/",
      "http://LOCALHOST.:PORT/",
      "http://a.localhost:PORT/",
      "http://metadata/",
      "http://metadata.google.internal/computeMetadata/v1/",
      "http://printer.local/",
      "https://127.0.0.1:PORT/",
    ])("does not connect to %s", async (url) => {
      expect(await tryUrl(url)).toBe("blocked_url");
      expect(seen).toEqual([]);
    });

    it.each([
      "",
      "/api/shares",
      "//127.0.0.1:PORT/",
      "file:///etc/passwd",
      "ftp://example.com/",
      "gopher://127.0.0.1:PORT/",
      "data:text/plain,x",
      "javascript:alert(1)",
      "http://",
      "http://user:pass@example.com/",
      "http://example.com\\@127.0.0.1:PORT/",
      "http://example.com @127.0.0.1:PORT/",
      "http://exa\nmple.com/",
      "http:\\\\127.0.0.1:PORT/",
      "http:127.0.0.1:PORT/",
      "http://[::1%25eth0]/",
      "http://example.com:99999/",
      `http://example.com/${"x".repeat(3000)}`,
    ])("does not accept %j as an address", async (url) => {
      expect(await tryUrl(url)).toBe("invalid_url");
      expect(seen).toEqual([]);
    });

    it("refuses a name with any address that is not public", async () => {
      const answers: string[][] = [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:10.0.0.1"], ["fd00::1"], []];
      for (const addresses of answers) {
        const resolve = async () => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
        expect(await tryUrl("http://collector.test:PORT/", resolve)).toBe("blocked_url");
      }
      expect(seen).toEqual([]);
    });

    it("refuses a name that becomes private between two lookups", async () => {
      let asked = 0;
      const resolve = async () => [{ address: asked++ % 2 === 0 ? "93.184.216.34" : "127.0.0.1", family: 4 }];
      expect(await tryUrl("http://rebind.test:PORT/", resolve)).toBe("blocked_url");
      expect(seen).toEqual([]);
    });

    it("distinguishes a name that does not resolve from a refused one", async () => {
      const resolve = () => Promise.reject(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }));
      expect(await tryUrl("http://nowhere.test/", resolve)).toBe("upstream_failed");
    });
  });
});
