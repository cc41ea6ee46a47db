import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { MASTER, newSession, runTurn, scratch, serve } from "./fixture.js";
import { expectError, expectReply } from "./shape.js";

/** A server whose one session said something hostile and something secret. */
async function withSession() {
  const sharesDirectory = scratch();
  const served = await serve({ sharesDirectory });
  const { id } = await newSession(served);
  await runTurn(served, id, `say <script>alert(1)</script> ${MASTER}`);
  return { served, id, sharesDirectory };
}

describe("a transcript", () => {
  test.each([
    ["html", "text/html"],
    ["md", "text/markdown"],
    ["json", "application/json"],
  ])("as %s has that type, is safe and does not contain the token", async (format, type) => {
    const { served, id } = await withSession();
    const answer = await served.call("GET", `/sessions/${id}/transcript?format=${format}`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, expect.stringContaining(type)]);
    expect(answer.text).toContain("alert(1)");
    expect(answer.text).not.toContain(MASTER);
    if (format === "html") {
      expect(answer.text).not.toContain("<script>alert");
      expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    }
  });

  test("is HTML by default, and refuses an unknown session or format", async () => {
    const { served, id } = await withSession();
    expect((await served.call("GET", `/sessions/${id}/transcript`)).headers.get("content-type")).toContain("text/html");
    expectError(await served.call("GET", `/sessions/${id}/transcript?format=pdf`), 400, "invalid_format");
    expectError(await served.call("GET", "/sessions/nope/transcript"), 404, "session_not_found");
  });
});

describe("a share", () => {
  test("to a file stays in the directory of shares", async () => {
    const { served, id, sharesDirectory } = await withSession();
    const shared = await served.call("POST", `/sessions/${id}/share`, { body: { sink: "file", format: "md" } });
    expectReply("POST /sessions/{id}/share", shared);
    expect(shared.body.path).toBe(join(sharesDirectory, `${id}.md`));
    expect(readFileSync(shared.body.path, "utf8")).toContain("alert(1)");
    for (const path of ["../x.html", "/etc/x", ".git/hooks/post-checkout", ""]) {
      const body = { sink: "file", path };
      expectError(await served.call("POST", `/sessions/${id}/share`, { body }), 400, "invalid_path");
    }
  });

  test("to the caller is in the reply", async () => {
    const { served, id } = await withSession();
    const shared = await served.call("POST", `/sessions/${id}/share`, { body: { sink: "stdout", format: "json" } });
    expectReply("POST /sessions/{id}/share", shared);
    expect(JSON.parse(shared.body.body)).toMatchObject({ session_id: id });
  });

  test("does not send to the server's own network if a caller asks for it", async () => {
    const { served, id } = await withSession();
    let reached = 0;
    const inner = createServer((_, response) => {
      reached++;
      response.end("secret");
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void inner.close());
    await new Promise((resolve) => inner.once("listening", resolve));
    const { port } = inner.address() as AddressInfo;
    for (const url of [
      `http://127.0.0.1:${port}/`,
      `http://localhost:${port}/`,
      `http://127.1:${port}/`,
      `http://2130706433:${port}/`,
      `http://0x7f000001:${port}/`,
      `http://[::1]:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      `http://0.0.0.0:${port}/`,
      `http://user:pass@127.0.0.1:${port}/`,
      "http://169.254.169.254/latest/meta-data",
      "http://10.0.0.1/",
      "http://[fe80::1]/",
      "http://public.example\\@127.0.0.1/",
      "file:///etc/passwd",
      "gopher://127.0.0.1/",
      "//collector.example/a",
      "not a url",
      "",
    ]) {
      const { status } = await served.call("POST", `/sessions/${id}/share`, { body: { sink: "http", url } });
      expect(`${url}: ${status}`).toBe(`${url}: 400`);
    }
    expect(reached).toBe(0);
  });

  test("goes to the operator's address, and a failed answer is 502 without its text", async () => {
    const inner = createServer((request, response) => {
      response.writeHead(request.url === "/bad" ? 500 : 201).end("thanks");
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void inner.close());
    await new Promise((resolve) => inner.once("listening", resolve));
    const { port } = inner.address() as AddressInfo;
    for (const [path, status] of [
      ["ok", 200],
      ["bad", 502],
    ] as const) {
      const served = await serve({ shareUrl: `http://127.0.0.1:${port}/${path}` });
      const { id } = await newSession(served);
      await runTurn(served, id, "say hi");
      const answer = await served.call("POST", `/sessions/${id}/share`, { body: { sink: "http", format: "json" } });
      expect(answer.status).toBe(status);
      if (status === 200) expectReply("POST /sessions/{id}/share", answer);
      else expect(answer.text).not.toContain("thanks");
    }
  });

  test("refuses an unknown sink or format", async () => {
    const { served, id } = await withSession();
    const share = (body: unknown) => served.call("POST", `/sessions/${id}/share`, { body });
    expectError(await share({ sink: "ftp" }), 400, "invalid_sink");
    expectError(await share({}), 400, "invalid_sink");
    expectError(await share({ sink: "stdout", format: "pdf" }), 400, "invalid_format");
  });
});

describe("past runs", () => {
  test("are listed and added up, by the same query", async () => {
    const { served, id } = await withSession();
    const list = await served.call("GET", "/runs");
    expectReply("GET /runs", list);
    expect(list.body).toMatchObject({ total_runs: 1, runs: [{ run_id: id, source: "otter", model: "test-model" }] });
    const cost = await served.call("GET", "/runs/cost?since=7d&model=TEST&limit=50");
    expectReply("GET /runs/cost", cost);
    expect(cost.body).toMatchObject({ total_runs: 1, filters: { since: "7d", model: "TEST" } });
    expect((await served.call("GET", "/runs?model=other")).body).toEqual({ total_runs: 0, runs: [], next: null });
    for (const query of ["limit=x", "since=yesterday", "after=zzz"]) {
      for (const path of ["/runs", "/runs/cost"]) {
        const answer = await served.call("GET", `${path}?${query}`);
        expectError(answer, 400, "invalid_query");
        expect(answer.body.detail).toEqual(expect.any(String));
      }
    }
  });
});
