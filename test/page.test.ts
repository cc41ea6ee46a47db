// The page in a real browser, served by the built program: what a person sees and does, on a desk.
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createBrowser, GREET, servePage, startSession } from "./page-window.js";
import { fileScope } from "./program.js";

const atEnd = fileScope();
const open = createBrowser(atEnd);
const browser = { tags: ["needs-chromium"], timeout: 60_000 };

const edit = { call: "Edit", args: { path: "greet.js", old_string: "(name)", new_string: '(name = "world")' } };

test(
  "signs in by code, starts a session, shows the diff before the answer, denies and allows, undoes and redoes",
  browser,
  async () => {
    const { cwd, signIn } = await servePage([
      {
        steps: [
          { reply: [{ thought: "Hm." }, { text: "I'll **change** it.\n", chunks: 4 }, edit] },
          { reply: [{ text: "Left as it is." }] },
        ],
      },
      { steps: [{ reply: [edit] }, { reply: [{ text: "Now it has a default.", chunks: 5, delayMs: 10 }] }] },
    ]);
    const window = await open(signIn);
    const { page } = window;
    await page.getByText("No sessions yet.").waitFor();
    expect(page.url()).not.toContain("code");
    await startSession(window, "give greet a default");
    const question = page.getByRole("alertdialog");
    await question.getByText('(name = "world")').waitFor();
    expect(await question.innerText()).toContain("export const greet = (name) =>");
    expect(readFileSync(join(cwd, "greet.js"), "utf8")).toBe(GREET);
    await question.getByRole("button", { name: /^Reject/ }).click();
    await page.getByText("Left as it is.").waitFor();
    expect(readFileSync(join(cwd, "greet.js"), "utf8")).toBe(GREET);

    await page.getByLabel("Prompt").fill("do it now");
    await page.keyboard.press("Enter");
    await question.getByText('(name = "world")').waitFor();
    await page.waitForTimeout(500);
    await page.keyboard.press("Alt+y");
    await page.getByText("Now it has a default.").waitFor();
    const changed = GREET.replace("(name)", '(name = "world")');
    expect(readFileSync(join(cwd, "greet.js"), "utf8")).toBe(changed);

    await page.getByRole("link", { name: "Changes" }).click();
    await page.getByText("greet.js").first().click();
    await page.getByRole("table").getByText('(name = "world")').waitFor();
    await page.getByRole("button", { name: "Undo this turn" }).click();
    await expect.poll(() => readFileSync(join(cwd, "greet.js"), "utf8")).toBe(GREET);
    await page.getByRole("button", { name: "Redo" }).click();
    await expect.poll(() => readFileSync(join(cwd, "greet.js"), "utf8")).toBe(changed);

    // Files that others changed are named, and overwritten only on request.
    writeFileSync(join(cwd, "greet.js"), "// mine\n");
    await page.getByRole("button", { name: "Undo this turn" }).click();
    await page.getByRole("alert").getByText("greet.js").waitFor();
    expect(readFileSync(join(cwd, "greet.js"), "utf8")).toBe("// mine\n");
    await page.getByRole("button", { name: "Overwrite them" }).click();
    await expect.poll(() => readFileSync(join(cwd, "greet.js"), "utf8")).toBe(GREET);

    // The token is the tab's: a reload keeps it, another window has to sign in, and the code works once.
    await page.reload();
    await page.getByRole("heading", { name: "Changes" }).waitFor();
    const stranger = await open(signIn);
    await stranger.page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await window.problems()).toEqual([]);
  },
);

test(
  "the page left open goes on when the server is killed in the middle of an answer and started again",
  browser,
  async () => {
    const words = Array.from({ length: 300 }, (_, at) => `word${at}`).join(" ");
    const turns = [
      { steps: [{ reply: [{ text: words, chunks: 300, delayMs: 10 }] }] },
      { steps: [{ reply: [{ text: "And on." }] }] },
    ];
    const first = await servePage(turns);
    const window = await open(first.signIn);
    const { page } = window;
    await startSession(window, "say much");
    await page.getByText("word40 ").waitFor();
    first.program.child.kill("SIGKILL");
    await first.program.exited;
    await page.getByText("Connection lost").waitFor();
    const port = new URL(first.address).port;
    const second = await servePage(turns, { home: first.program.home, cwd: first.cwd, port });
    // Page tokens end with the server that issued them: the page signs in again, and continues where it was.
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.getByLabel("Code").fill(second.signIn);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByLabel("Prompt").fill("go on");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".turn").getByText("And on.").waitFor();
    const id = decodeURIComponent(/#\/s\/(.*)$/.exec(page.url())![1]!);
    const { events } = (await first.ask(`GET /sessions/${id}`)) as {
      events: { type: string; turn: number; metadata: { text: string } }[];
    };
    const said = events
      .filter(({ type, turn }) => type === "text_delta" && turn === 0)
      .map(({ metadata }) => metadata.text);
    const shown = await page.locator(".turn").first().locator(".item:not(.prompt) .prose").first().innerText();
    expect(said.length).toBeGreaterThan(40);
    expect(shown.trim()).toBe(said.join("").trim());
  },
);

test("works below a path of a proxy, and continues after a network failure", browser, async () => {
  const words = Array.from({ length: 200 }, (_, at) => `word${at}`).join(" ");
  const { signIn, address } = await servePage([
    { steps: [{ reply: [{ text: `${words} end`, chunks: 200, delayMs: 10 }] }] },
  ]);
  const proxy = createServer((incoming, outgoing) => {
    const path = incoming.url?.startsWith("/deep/path/") ? incoming.url.slice("/deep/path".length) : "/nowhere";
    const { method = "GET", headers } = incoming;
    const passed = request(address + path, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  await expect.poll(() => proxy.listening).toBe(true);
  const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/deep/path/`;
  const window = await open(base + new URL(signIn).hash);
  const { page } = window;
  await startSession(window, "say much");
  await page.getByText("word30 ").waitFor();
  await page.context().setOffline(true);
  proxy.closeAllConnections();
  await page.getByText("Connection lost").waitFor();
  await page.context().setOffline(false);
  await page
    .locator(".turn")
    .getByText(/word199 end$/)
    .waitFor();
  expect((await page.locator(".item:not(.prompt) .prose").first().innerText()).trim()).toBe(`${words} end`);
  expect(page.url().startsWith(base)).toBe(true);
  expect(await window.problems()).toEqual([]);
});

test("a conversation stays at its end through new turns and questions, until the person scrolls up", {
  tags: ["needs-chromium"],
  timeout: 60_000,
}, async () => {
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}`).join("\n");
  const write = (path: string) => ({ call: "Write", args: { path, content: lines(60) } });
  const turn = (path: string) => ({
    steps: [{ reply: [{ text: lines(40) }, write(path)] }, { reply: [{ text: "Written." }] }],
  });
  const { signIn } = await servePage(["a.txt", "b.txt", "c.txt"].map(turn));
  const window = await open(signIn);
  const { page } = window;
  const toEnd = () =>
    page.evaluate<number>(
      "(({ scrollHeight, clientHeight, scrollTop }) => scrollHeight - clientHeight - scrollTop)(document.querySelector('.conversation'))",
    );
  const answer = async () => {
    await page
      .getByRole("alertdialog")
      .getByRole("button", { name: /^Allow once/ })
      .click();
    await page.getByRole("alertdialog").waitFor({ state: "detached" });
  };
  await startSession(window, "first");
  for (const prompt of ["second", "third"]) {
    await answer();
    await page.locator(".turn").getByText("Written.").last().waitFor();
    await expect.poll(toEnd).toBeLessThan(2);
    await page.getByLabel("Prompt").fill(`${prompt}\n\n${lines(30)}`);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("alertdialog").waitFor();
    await expect.poll(toEnd).toBeLessThan(2);
  }
  await page.locator(".conversation").hover();
  await page.mouse.wheel(0, -1500);
  await expect.poll(toEnd).toBeGreaterThan(700);
  await answer();
  await page.locator(".turn").getByText("Written.").nth(2).waitFor();
  expect(await toEnd()).toBeGreaterThan(300);
});

test("a prompt keeps its lines, and the menu closes by Escape and by a press elsewhere", browser, async () => {
  const { signIn } = await servePage([{ steps: [{ reply: [{ text: "Seen." }] }] }]);
  const window = await open(signIn);
  const { page } = window;
  await startSession(window, "one line\nand another");
  await page.locator(".turn").getByText("Seen.").waitFor();
  expect((await page.locator(".item.prompt").innerText()).trim()).toBe("one line\nand another");
  const more = page.getByLabel("More");
  const rename = page.getByRole("button", { name: "Rename" });
  await more.click();
  await rename.waitFor();
  await page.keyboard.press("Escape");
  await rename.waitFor({ state: "hidden" });
  await more.click();
  await rename.waitFor();
  await page.locator(".turn").getByText("Seen.").click();
  await rename.waitFor({ state: "hidden" });
  expect(await window.problems()).toEqual([]);
});

test("the chart of a week has a bar for what was spent in the last hours of its first day", browser, async () => {
  const { signIn } = await servePage([
    { steps: [{ reply: [{ text: "Paid." }, { usage: { input: 20_000, output: 900 } }] }] },
  ]);
  const window = await open(signIn);
  const { page } = window;
  await startSession(window, "spend");
  await page.locator(".turn").getByText("Paid.").waitFor();
  await page.clock.setFixedTime(Date.now() + 7 * 86_400_000);
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByLabel("Of the last").selectOption("7d");
  const bars = page.locator(".chart rect");
  await expect.poll(() => bars.count()).toBe(8);
  const heights = bars.evaluateAll((all) => all.map((one) => one.getAttribute("height")));
  expect(await heights).toEqual(["120", ...Array(7).fill("0")]);
  expect(await window.problems()).toEqual([]);
});
