// Every view on a desk and on a phone, light and dark: accessible by what axe can tell, within the width, reachable by keyboard.
// PAGE_PICTURES=<folder> keeps a picture of each.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
import { expect, test } from "vitest";
import { createBrowser, type PageWindow, servePage, startSession } from "./page-window.js";
import { fileScope } from "./program.js";
import { scratchTree } from "./scratch.js";

const open = createBrowser(fileScope());
const pictures = process.env["PAGE_PICTURES"];

async function look(window: PageWindow, view: string): Promise<void> {
  const { page } = window;
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 800 });
      const name = `${view}-${width}-${colorScheme}`;
      if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
      const wide = `[...document.querySelectorAll("html, main, nav, header, .conversation")].some((one) => one.scrollWidth > one.clientWidth)`;
      expect(await page.evaluate(wide), `${name} is wider than its place`).toBe(false);
      const aside = `[...document.querySelectorAll(".top nav a, .settings > summary, .menu > summary")].filter((one) => {
        const text = document.createRange();
        text.selectNodeContents(one);
        const [box, { top, bottom }] = [one.getBoundingClientRect(), text.getBoundingClientRect()];
        return box.height > 0 && Math.abs(top + bottom - box.top - box.bottom) > 8;
      }).map((one) => one.textContent)`;
      expect(await page.evaluate(aside), `${name}: text that is not in the middle of its button`).toEqual([]);
      const found = await page.evaluate<
        string[]
      >(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
        violations.filter(({ impact }) => impact === "serious" || impact === "critical")
          .flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 160))))`);
      expect(found, name).toEqual([]);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

test("every view has no serious finding of axe, at 1280 and 390 pixels, light and dark", {
  tags: ["needs-chromium"],
  timeout: 90_000,
}, async () => {
  const text =
    "# A title\n\nSome **text** with `code`, [a link](https://example.com).\n\n```js\nconst a = 1; // one\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
  const edit = { call: "Edit", args: { path: "greet.js", old_string: "(name)", new_string: '(name = "world")' } };
  const inner = scratchTree({
    "model.json": {
      turns: [
        { steps: [{ reply: [{ call: "Read", args: { path: "README.md" } }] }, { reply: [{ text: "Seen it all." }] }] },
      ],
    },
  });
  const { signIn, address, cwd } = await servePage([
    {
      steps: [
        {
          reply: [
            { thought: "Let me see." },
            { text },
            { call: "Bash", args: { command: "touch made; printf '\\033[31mred\\033[0m \\033[32mgreen\\033[0m'" } },
          ],
        },
        { reply: [edit, { usage: { input: 20_000, output: 900 } }] },
        { reply: [{ call: "ask", args: { question: "Which colour?", options: ["red", "blue"] } }] },
        { reply: [{ call: "ask", args: { question: "And why?" } }] },
        { reply: [{ call: "Bash", args: { command: "touch on; echo on; sleep 300", background: true } }] },
        { reply: [{ call: "task", args: { prompt: "Look around", agent: "helper" } }] },
        { reply: [{ text: "It is done." }] },
      ],
    },
  ]);
  mkdirSync(join(cwd, ".opencode/agent"), { recursive: true });
  writeFileSync(
    join(cwd, ".opencode/agent/helper.md"),
    `---\nmode: subagent\nmodel: scripted:${join(inner, "model.json")}\n---\nHelp.`,
  );
  const window = await open(signIn, { bypassCSP: true });
  const { page } = window;
  await page.addScriptTag({ content: axe.source });
  await page.getByText("No sessions yet.").waitFor();
  await look(window, "empty");
  await page.getByRole("link", { name: "New", exact: true }).click();
  await page.getByRole("option", { name: /build/ }).first().waitFor({ state: "attached" });
  await look(window, "new");
  await startSession(window, "make it so");
  await page.getByRole("alertdialog").getByText("printf").first().waitFor();
  await page.getByRole("button", { name: /^Allow once/ }).click();
  await page.getByRole("alertdialog").getByText('(name = "world")').waitFor();
  await look(window, "permission");
  await page.goto(`${address}/#/approvals`);
  await page.getByText('(name = "world")').first().waitFor();
  await look(window, "approvals");
  // Also what holds for more than this call, by its name.
  await page.getByRole("button", { name: "Allow edits in this workspace for this session" }).click();
  await page.getByRole("alertdialog", { name: "The agent asks" }).getByText("Which colour?").waitFor();
  await look(window, "question-waits");
  await page
    .getByRole("link", { name: /A title|make it so/ })
    .first()
    .click();
  const question = page.getByRole("alertdialog", { name: "The agent asks" });
  await question.getByText("Which colour?").waitFor();
  await look(window, "question");
  await question.getByRole("button", { name: /^blue/ }).click();
  await question.getByText("And why?").waitFor();
  await question.getByLabel("Your answer").fill("it is the sky");
  await question.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByRole("alertdialog").getByText("sleep 300").first().waitFor();
  await page.getByRole("button", { name: /^Allow once/ }).click();
  await page.locator(".turn").getByText("It is done.").waitFor();
  await page.evaluate(`for (const one of document.querySelectorAll("details.card:not([open]) > summary")) one.click()`);
  for (const words of ["blue, done", "it is the sky, done", "Read README.md", "running"])
    await page.locator(".turn").getByText(words).first().waitFor();
  await look(window, "session");
  await page.getByLabel("Prompt").fill("/");
  await page.locator(".suggestions [role=option]").first().waitFor();
  await look(window, "commands");
  await page.getByLabel("Prompt").fill("");
  await page.getByRole("link", { name: "Changes" }).click();
  await page.locator("details.card > summary").first().click();
  await page.locator(".diff").first().waitFor();
  await look(window, "changes");
  await page.getByRole("link", { name: "Runs" }).click();
  await page.locator(".chart").waitFor();
  await look(window, "runs");
  await page.getByRole("link", { name: "Sessions" }).click();
  await look(window, "sessions");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await look(window, "sign-in");
});
