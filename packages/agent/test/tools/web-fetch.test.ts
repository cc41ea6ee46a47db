import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { publicLookup } from "@chimera/sandbox/public-address";
import { describe, expect, onTestFinished, test } from "vitest";
import { htmlToText } from "../../src/tools/html-to-text.js";
import { createWebFetchTool } from "../../src/tools/index.js";
import { bench } from "./bench.js";

/** A site on this machine under any name, in place of a public one. */
async function site(answer: RequestListener) {
  const hosts: string[] = [];
  const server = createServer((request, response) => {
    hosts.push(request.headers.host ?? "");
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const lookup: LookupFunction = (_name, options, callback) =>
    options.all ? callback(null, [{ address: "127.0.0.1", family: 4 }]) : callback(null, "127.0.0.1", 4);
  return { port, hosts, tool: createWebFetchTool({ lookup, limitMs: 2000 }) };
}

describe("web_fetch", () => {
  test("returns a page as text, after a redirect on the same host", async () => {
    const { port, tool } = await site((request, response) => {
      if (request.url === "/old") return void response.writeHead(302, { location: "/new" }).end();
      response.setHeader("content-type", "text/html; charset=utf-8").end("<h1>Grüße</h1><p>a <b>b</b>");
    });
    const { run } = await bench();
    const outcome = await run(tool, { url: `http://site.test:${port}/old#part` });
    expect(outcome).toMatchObject({ success: true, output: `http://site.test:${port}/new\n\n# Grüße\n\na b` });
  });

  test.each([
    [
      "another host",
      { location: "http://other.test/" },
      302,
      /redirects to another host: fetch http:\/\/other\.test\//,
    ],
    ["a file", { location: "file:///etc/passwd" }, 301, /absolute http or https/],
    ["itself, for ever", { location: "/" }, 302, /more than 5 times/],
    ["a picture", { "content-type": "image/png" }, 200, /image\/png, not text/],
    ["an error", {}, 503, /answered 503/],
  ])("refuses %s", async (_, headers, status, message) => {
    const { port, tool } = await site((_request, response) => void response.writeHead(status, headers).end("x"));
    const { run } = await bench();
    const outcome = await run(tool, { url: `http://site.test:${port}/` });
    expect(outcome).toMatchObject({ success: false, error: expect.stringMatching(message) });
  });

  test("stops at its limits of size and time", async () => {
    const { port, tool } = await site((request, response) => {
      response.setHeader("content-type", "text/plain");
      if (request.url === "/slow") return void response.write("a");
      const more = () => {
        while (response.write("x".repeat(65_536))) if (response.destroyed) return;
      };
      response.on("drain", more);
      more();
    });
    const { run } = await bench();
    const large = await run(tool, { url: `http://site.test:${port}/` });
    expect(large.output).toContain("only the first 2097152 bytes were read");
    expect(large.output.length).toBeLessThan(31_000);
    // Node 20 collects signals that only a time limit holds.
    setFlagsFromString("--expose-gc");
    const collecting = setInterval(runInNewContext("gc") as () => void, 100);
    onTestFinished(() => clearInterval(collecting));
    const slow = await run(tool, { url: `http://site.test:${port}/slow` });
    expect(slow).toMatchObject({ success: false, error: expect.stringContaining("longer than 2 s") });
  });

  test.each([
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://[::1]/",
    "http://[::ffff:7f00:1]/",
    "http://169.254.169.254/latest",
    "http://100.100.100.200/",
    "http://10.0.0.1/",
    "http://localhost/",
    "http://printer.local/",
    "http://[fe80::1]/",
  ])("connects to nothing private: %s", async (url) => {
    const { run } = await bench();
    const outcome = await run(createWebFetchTool(), { url });
    expect(outcome).toMatchObject({ success: false, error: expect.stringContaining("is not on the public internet") });
  });

  test("refuses a name that is public first and private a moment later", async () => {
    const { port, hosts } = await site((_request, response) => void response.end("secret"));
    let asked = 0;
    const resolve = async () => [{ address: asked++ === 0 ? "93.184.216.34" : "127.0.0.1", family: 4 }];
    const tool = createWebFetchTool({ lookup: publicLookup({ resolve, refusal: () => new Error("private") }) });
    const { run } = await bench();
    expect(await run(tool, { url: `http://rebind.test:${port}/` })).toMatchObject({ success: false });
    expect(hosts).toEqual([]);
  });

  test.each([
    "ftp://a.test/",
    "file:///etc/passwd",
    "http://a.test\\@127.0.0.1/",
    "http://user:pw@a.test/",
    "a.test",
    "http://a b/",
  ])("refuses %j before the person is asked", async (url) => {
    const { workspace } = await bench();
    expect(() => createWebFetchTool().describe({ url }, workspace)).toThrow(/url must/);
  });
});

test("HTML becomes text", async () => {
  const html = `<!doctype html><head><title>x</title></head><!-- <p>no --><body><script>alert("<p>")</script><h2>A &amp; B</h2>
    <ul><li>one</li><li><a href="/two?a=1&amp;b=2">two</a></li></ul><pre>  keep
    this</pre><table><tr><td>1</td><td>2</td></tr></table><a href="javascript:x()">js</a> &#x41;&unknown; 1 < 2`;
  expect(await htmlToText(html, new URL("https://site.test/dir/"))).toBe(
    "## A & B\n\n- one\n\n- [two](https://site.test/two?a=1&b=2)\n\n```\n  keep\n    this\n\n```\n\n| 1 | 2\n\njs A&unknown; 1 < 2",
  );
});

test("hostile HTML takes linear time, and other work can run meanwhile", async () => {
  for (const piece of ["<", "<a href=x>", "<!--", "&", '<a b="', "</", "<pre>", "<script>", "<a href=x><b>"]) {
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const started = performance.now();
    await htmlToText(piece.repeat(50_000), new URL("https://site.test/"));
    const took = performance.now() - started;
    clearInterval(timer);
    expect(took).toBeLessThan(5_000);
    if (took > 500) expect(turns).toBeGreaterThan(1);
  }
});
