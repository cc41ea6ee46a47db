// A page that lists sessions, streams one, answers what it asks and undoes it, with the client and nothing else: index.html. Where there
// is a Chromium, this program uses it as a person would.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createMemoryStore } from "@chimera/event-store";
import { createApp } from "@chimera/http-server";
import { listen } from "@chimera/http-server/node";
import { createSessions } from "@chimera/session";
import { createSnapshotStore } from "@chimera/snapshot-store";
import { Hono } from "hono";

/** Writes what it is asked to write, once somebody allows it. */
async function* writer({ prompt }, { ask, workspace }) {
  yield { type: "step_start", metadata: { step: 0 } };
  const path = join(workspace.cwd, "note.txt");
  const call = { call_id: "call-0", tool: "Write", args: { path } };
  yield { type: "tool_call", metadata: { ...call, kind: "edit", title: "Write note.txt", locations: [{ path }] } };
  const { decision } = await ask({ ...call, risk: "medium" });
  const success = decision === "allow";
  if (success) await workspace.writeText(path, prompt.text);
  const output = success ? "written" : "refused";
  yield { type: "tool_result", metadata: { call_id: "call-0", success, output, duration_ms: 0 } };
  yield { type: "text_delta", metadata: { text: `${output}\n` } };
  yield { type: "step_end", metadata: { step: 0 } };
}

const cwd = mkdtempSync(join(tmpdir(), "small-page-"));
const sessions = createSessions({
  agent: writer,
  store: createMemoryStore(),
  snapshots: createSnapshotStore({ root: join(cwd, ".snapshots") }),
  prefix: "example",
  defaults: { model: "none" },
});
const client = dirname(fileURLToPath(import.meta.resolve("@chimera/client")));

/** The page, the client's files and the API, which this page alone may call. */
function siteAt(origin) {
  const api = createApp({ name: "example", version: "1.0.0", sessions, defaultCwd: cwd, cors: [origin] });
  return new Hono()
    .get("/", (c) => c.html(readFileSync(new URL("index.html", import.meta.url), "utf8")))
    .get("/client/:file", (c) =>
      c.body(readFileSync(join(client, basename(c.req.param("file")))), 200, { "Content-Type": "text/javascript" }),
    )
    .mount("/api", api.fetch);
}

const server = await listen(async (bound) => siteAt(`http://127.0.0.1:${bound.address().port}`), {
  host: "127.0.0.1",
  port: 0,
});
const address = `http://127.0.0.1:${server.port}`;

const places = (process.env.PATH ?? "").split(delimiter);
const executablePath = places.map((place) => join(place, "chromium")).find((path) => existsSync(path));
if (executablePath) await useAsAPerson(executablePath);
else {
  assert.match(await (await fetch(address)).text(), /createClient/);
  assert.equal((await fetch(`${address}/client/index.js`)).status, 200);
  console.log("no chromium on the PATH: the page is served and was not used");
}
await Promise.all([server.close(), sessions.shutdown()]);
rmSync(cwd, { recursive: true, force: true });

async function useAsAPerson(path) {
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    await page.goto(address);
    await page.getByLabel("Prompt").fill("hello");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "allow" }).click();
    await page.locator("#said").getByText("written").waitFor();
    assert.equal(readFileSync(join(cwd, "note.txt"), "utf8"), "hello");
    await page.locator("#list").getByText("(idle)").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.locator("#said").getByText("took back 1 file(s)").waitFor();
    assert.equal(existsSync(join(cwd, "note.txt")), false);
    console.log("listed, streamed, answered and undone in a browser");
  } finally {
    await browser.close();
  }
}
