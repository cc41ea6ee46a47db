// The extension in a real VS Code, driven as a person would; needs chromium, and libkrb5-dev to install code-server.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { repositoryRoot } from "../scratch.js";
import { openWindow, type Window } from "./code-server.js";

const README = "# A workspace\n\nIt says one thing.\n";
const COMMAND = "touch made.txt\necho it is made\nrm -rf ./not-here ./nor-here ./nor-anywhere-else";
const edit = (old_string: string, new_string: string) => ({
  call: "Edit",
  args: { path: "README.md", old_string, new_string },
});
const turn = (...reply: object[]) => ({ steps: [{ reply }, { reply: [{ text: "That is done." }] }] });

const turns = [
  turn({ text: "Let me look at it. ", chunks: 4, delayMs: 50 }, { call: "Bash", args: { command: COMMAND } }),
  turn({ call: "ask", args: { question: "How many things should it say?", options: ["two", "three"] } }),
  turn(edit("one thing", "two things")),
  turn(edit("one thing", "three things")),
  turn(edit("three things", "four things")),
];

let window: Window;
beforeAll(async () => {
  window = await openWindow({ "README.md": README }, turns);
});
afterAll(() => window?.close());

const file = (name: string) => join(window.cwd, name);
const read = () => readFileSync(file("README.md"), "utf8");
const chat = () => window.page.frameLocator("iframe.webview.ready").frameLocator("iframe[id$='-frame']").last();
const say = async (text: string) => {
  await chat().locator("#text").fill(text);
  await chat().locator("#text").press("Enter");
};
const done = (times: number) =>
  expect.poll(() => chat().getByText("That is done.").count(), { timeout: 30_000 }).toBe(times);
const lens = (name: string) => window.page.locator(".codelens-decoration a", { hasText: name }).first();
/** A picture for the documents, where somebody asks for them. */
const picture = async (name: string) => {
  if (process.env["PICTURES"])
    await window.page.screenshot({
      path: join(repositoryRoot, "docs", "pictures", `vscode-${name}.png`),
      animations: "disabled",
    });
};

test("a session starts from the Command Palette", async () => {
  const { page } = window;
  // Its icon is there once VS Code has read the extension.
  await page.locator(".activitybar [aria-label^='Chimera']").first().waitFor({ timeout: 90_000 });
  await page.keyboard.press("F1");
  await page.locator(".quick-input-widget input").fill(">Chimera: Start Session");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Start Session" }).first().click();
  await chat().locator("#text").waitFor({ timeout: 60_000 });
});

test("it streams, and a question is answered in a quick pick", async () => {
  await say("Look at it");
  await chat().getByText("Let me look at it.").waitFor();
  const question = window.page.locator(".quick-input-widget", { hasText: "Chimera asks" });
  await question.waitFor({ timeout: 30_000 });
  // The quick pick has room for one line: all of what would run is in the panel.
  const asked = chat().locator(".question.waiting pre");
  await asked.waitFor();
  expect(await asked.textContent()).toBe(COMMAND);
  await picture("question");
  expect(existsSync(file("made.txt"))).toBe(false);
  await question.locator(".monaco-list-row", { hasText: "Allow once" }).click();
  await done(1);
  expect(existsSync(file("made.txt"))).toBe(true);
  expect(await chat().locator(".tool.done").count()).toBe(1);
  expect(await chat().locator(".question .state").textContent()).toBe("allowed once");
  expect(await chat().locator(".tool.done pre").isVisible()).toBe(false);
});

test("what the agent wants to know is answered in one's own words", async () => {
  await say("Choose");
  const question = window.page.locator(".quick-input-widget", { hasText: "How many things" });
  await question.locator(".monaco-list-row", { hasText: "three" }).waitFor({ timeout: 30_000 });
  await question.locator("input").fill("just two");
  await question.locator(".monaco-list-row", { hasText: "just two" }).click();
  await done(2);
  await expect.poll(() => chat().locator(".question .state").last().textContent()).toBe("just two");
});

test("an edit is shown in the editor and rejected: the file is as it was", async () => {
  await say("Say two things");
  await done(3);
  expect(await chat().locator(".diff .added").textContent()).toContain("It says two things.");
  expect(read()).toContain("two things");
  await lens("Reject").waitFor({ timeout: 30_000 });
  await picture("edit");
  await lens("Reject").click();
  await expect.poll(read, { timeout: 30_000 }).toBe(README);
  await expect.poll(() => lens("Reject").count()).toBe(0);
});

test("an edit is accepted: it stays, and its lenses go", async () => {
  await say("Say three things");
  await done(4);
  await lens("Accept").waitFor({ timeout: 30_000 });
  await lens("Accept").click();
  await expect.poll(() => lens("Accept").count()).toBe(0);
  expect(read()).toContain("three things");
});

test("a turn is undone", async () => {
  await say("Say four things");
  await done(5);
  expect(read()).toContain("four things");
  await chat().locator("#undo").click();
  await expect.poll(read, { timeout: 30_000 }).toContain("three things");
});
