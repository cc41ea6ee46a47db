// One session in two windows of a browser and in an ACP client, at the same time.
import { expect, onTestFinished, test } from "vitest";
import { launch, openSession, textPrompt } from "./clients/editor.js";
import { createBrowser } from "./page-window.js";
import { fileScope } from "./program.js";

const open = createBrowser(fileScope());

test("two windows and an ACP client share a session: what one is asked, another answers", {
  tags: ["needs-chromium"],
  timeout: 60_000,
}, async () => {
  const call = { call: "Bash", args: { command: "touch permitted" } };
  const script = {
    turns: [
      { steps: [{ reply: [call] }, { reply: [{ text: "First is done." }] }] },
      { steps: [{ reply: [call] }, { reply: [{ text: "Second is done." }] }] },
    ],
  };
  const editor = launch("otter", { script, args: ["--http", "--port", "0"], command: "serve" });
  onTestFinished(() => editor.dispose());
  const sessionId = await openSession(editor);
  await expect.poll(() => editor.stderr(), { timeout: 10_000 }).toMatch(/http:\S+/);
  // Without a token on this machine the page just works.
  const address = `${/http:\/\/[^\s]+/.exec(editor.stderr())![0]}/#/s/${sessionId}`;
  const [one, other] = [await open(address), await open(address, { viewport: { width: 390, height: 800 } })];

  const reply = editor.start("session/prompt", textPrompt(sessionId, "from the editor"));
  await one.page.locator(".turn").getByText("from the editor").waitFor();
  await editor.find((frame) => frame.method === "session/request_permission");
  await one.page.getByRole("alertdialog").getByText("touch permitted").first().waitFor();
  await other.page
    .getByRole("alertdialog")
    .getByRole("button", { name: /^Allow once/ })
    .click();
  await one.page.getByRole("alertdialog").waitFor({ state: "detached" });
  expect((await reply.answer).result.stopReason).toBe("end_turn");
  for (const { page } of [one, other]) await page.locator(".turn").getByText("First is done.").waitFor();

  await one.page.getByLabel("Prompt").fill("from the page");
  await one.page.getByRole("button", { name: "Send" }).click();
  const asked = await editor.find(
    (frame) => frame.method === "session/request_permission" && JSON.stringify(frame).includes("permitted"),
  );
  expect(asked.params.sessionId).toBe(sessionId);
  await other.page.locator(".turn").getByText("from the page").waitFor();
  await one.page
    .getByRole("alertdialog")
    .getByRole("button", { name: /^Reject/ })
    .click();
  for (const { page } of [one, other]) await page.locator(".turn").getByText("Second is done.").waitFor();
  await editor.find((frame) => frame.params?.update?.content?.text === "Second is done.");
  // Each window sees the editor and the other window.
  await expect.poll(() => one.page.locator(".others").innerText(), { timeout: 15_000 }).toContain("a browser");
  expect(await one.page.locator(".turn").first().innerText()).toBe(
    await other.page.locator(".turn").first().innerText(),
  );
  for (const window of [one, other]) expect(await window.problems()).toEqual([]);
});
