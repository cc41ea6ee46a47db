/** Opens transcripts in a real browser: hostile ones run nothing, and a typical one fits a phone. */
import { mkdtemp } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TRANSCRIPT_CSP } from "../../src/index.js";
import { render, sourceOf } from "../fixture.js";
import { HOSTILE, PLACES } from "../hostile.js";
import { findChromium } from "./chromium.js";
import { EVERYDAY } from "./everyday.js";

let browser: Browser;
let server: Server;
let html = "";
const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: findChromium()!, args: ["--no-sandbox"] });
  server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(html);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
});

/** What a page did by itself while it was opened, unfolded and hovered over. */
async function observe(page: Page): Promise<{ ran: number; dialogs: number; requests: string[]; url: string }> {
  let ran = 0;
  let dialogs = 0;
  const requests: string[] = [];
  await page.exposeFunction("canary", () => {
    ran++;
  });
  page.on("dialog", (dialog) => {
    dialogs++;
    void dialog.dismiss();
  });
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(address());
  await page.evaluate(TOUCH_EVERYTHING);
  await page.waitForTimeout(500);
  return { ran, dialogs, requests, url: page.url() };
}

/** A script as text, because it runs in the page. */
const TOUCH_EVERYTHING = `
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const element of document.querySelectorAll("*")) {
    for (const type of ["mouseover", "mouseenter", "focus", "toggle", "click"]) {
      if (element.tagName !== "A" || type !== "click") element.dispatchEvent(new Event(type, { bubbles: true }));
    }
  }
`;

const quiet = () => ({ ran: 0, dialogs: 0, requests: [address()], url: address() });

async function hostilePage(place: string): Promise<string> {
  const sessions = HOSTILE.map((hostile) => PLACES[place]!(hostile));
  const { id, summary } = sessions[0]!;
  const events = sessions.flatMap((session) => session.events);
  return render(sourceOf(events, { summary: summary ?? {}, ...(id !== undefined && { id }) }), { format: "html" });
}

describe("hostile content", () => {
  it("would be noticed, because a page that does run something is", async () => {
    html = "<script>canary()</script>";
    const page = await browser.newPage();
    expect((await observe(page)).ran).toBe(1);
    await page.close();
  });

  it.each(Object.keys(PLACES))("runs nothing and loads nothing as %s", async (place) => {
    html = await hostilePage(place);
    const page = await browser.newPage();
    expect(await observe(page)).toEqual(quiet());
    await page.close();
  });

  it.each(Object.keys(PLACES))("runs nothing as %s even where the policy is ignored", async (place) => {
    html = (await hostilePage(place)).replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, "");
    const page = await browser.newPage();
    expect(await observe(page)).toEqual(quiet());
    await page.close();
  });
});

describe("an everyday session", () => {
  it("obeys its own policy", async () => {
    html = (await render(sourceOf(EVERYDAY), { format: "html" })).replace(
      "</main>",
      "<script>canary()</script></main>",
    );
    expect(html).toContain(TRANSCRIPT_CSP.split(";")[0]!.replaceAll("'", "&#39;"));
    const page = await browser.newPage();
    expect((await observe(page)).ran).toBe(0);
    await page.close();
  });

  it.each(["light", "dark"] as const)("fits a phone, folded and unfolded, %s", async (colorScheme) => {
    html = await render(sourceOf(EVERYDAY, { summary: SUMMARY }), { format: "html" });
    const page = await browser.newPage({ viewport: { width: 390, height: 844 }, colorScheme });
    await page.goto(address());
    const width = () => page.evaluate<number>("document.documentElement.scrollWidth");
    const folder = await mkdtemp(join(tmpdir(), "transcript-"));
    expect(await width()).toBe(390);
    await page.screenshot({ path: join(folder, `${colorScheme}-folded.png`), fullPage: true });
    expect(await page.locator("details[open]:visible").count()).toBe(0);
    for (const summary of await page.locator("details.event > summary").all()) await summary.click();
    expect(await width()).toBe(390);
    await page.screenshot({ path: join(folder, `${colorScheme}-open.png`), fullPage: true });
    const shade = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const lightness = Number(/\d+/.exec(shade)?.[0]);
    expect(colorScheme === "light" ? lightness > 200 : lightness < 50).toBe(true);
    console.log(`screenshots in ${folder}`);
    await page.close();
  });
});

const SUMMARY = {
  title: "Retry in the fetch helper",
  model: "claude-sonnet-4-6",
  started_at: "2026-04-25T12:03:00Z",
  ended_at: "2026-04-25T12:03:30Z",
  steps: 4,
  tool_calls_total: 3,
  cost_usd: 0.0731,
  success: true,
};
