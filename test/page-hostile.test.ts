// Text that wants to be more than text, wherever it can come in: the page shows it, and runs nothing of it.
import { expect, test } from "vitest";
import { HOSTILE } from "../packages/run-reports/test/hostile.js";
import { createBrowser, servePage, startSession } from "./page-window.js";
import { fileScope } from "./program.js";
import { scratchTree } from "./scratch.js";

const open = createBrowser(fileScope());
const browser = { tags: ["needs-chromium"], timeout: 60_000 };

const WELL_FORMED = /^[^\ud800-\udfff]*$/;

/** Nodes that no text may become, and attributes that no text may set. */
const DANGEROUS = `[
  ...document.querySelectorAll(".prose :is(form, input, button, img, svg, details)"),
  ...[...document.querySelectorAll(".app *")].filter((node) =>
    /^(script|iframe|object|embed|base|meta|link|style|video|audio|math|frame)$/i.test(node.localName) ||
    [...node.attributes].some(({ name, value }) => /^on|^style$|srcdoc/i.test(name) ||
      (/^(href|src|action|xlink:href)$/i.test(name) && !/^(#|https?:|mailto:|data:image\\/png;)/.test(value)))),
].map((node) => node.outerHTML.slice(0, 200))`;

test(
  `runs nothing of ${HOSTILE.length} payloads in prompts, answers, thoughts, output, arguments, file names, diffs and titles`,
  browser,
  async () => {
    // A name of a file cannot hold everything.
    const names = HOSTILE.filter(
      (text) => !/[/\0\n]/.test(text) && Buffer.byteLength(text) < 200 && WELL_FORMED.test(text),
    );
    const cwd = scratchTree({ "hostile.txt": HOSTILE.join("\n") });
    const all = HOSTILE.filter((text) => WELL_FORMED.test(text) && !text.includes("\0")).join("\n\n");
    const { signIn, ask } = await servePage(
      [
        {
          steps: [
            {
              reply: [
                { thought: all },
                { text: all, chunks: 50 },
                { call: "Bash", args: { command: "cat hostile.txt" } },
                ...names.slice(0, 12).map((name) => ({ call: "Write", args: { path: name, content: all } })),
              ],
            },
            { reply: [{ text: "The end." }] },
          ],
        },
      ],
      { cwd, args: ["--mode", "auto"] },
    );
    const window = await open(signIn);
    const { page } = window;
    await startSession(window, all);
    await page.locator(".turn").getByText("The end.", { exact: true }).waitFor({ timeout: 30_000 });
    const { sessions } = await ask("GET /sessions");
    for (const title of HOSTILE.slice(0, 20))
      await ask(`POST /sessions/${sessions[0].session_id}/title`, { title: `x ${title}` });
    // Everything that is folded is unfolded, and every link is followed by its click handlers alone.
    await page.evaluate(
      `for (const one of document.querySelectorAll("details.card:not([open]) > summary")) one.click()`,
    );
    await page.evaluate(`for (const a of document.querySelectorAll(".turn a")) {
    a.addEventListener("click", (event) => event.preventDefault());
    a.click();
  }`);
    expect(await page.evaluate(DANGEROUS)).toEqual([]);
    expect(await page.locator(".turn").first().innerText()).toContain("<script>canary()</script>");
    await page.getByRole("link", { name: "Changes" }).click();
    await page.locator("details.card > summary").first().click();
    await page.locator(".diff").first().waitFor();
    expect(await page.evaluate(DANGEROUS)).toEqual([]);
    await page.waitForTimeout(300);
    expect(await window.problems()).toEqual([]);
  },
);

test("shows text that is slow to parse as source text, and stays usable", browser, async () => {
  const slow = [
    "_a__b ".repeat(5_500),
    ">".repeat(32_000),
    `${"a.".repeat(16_000)}@`,
    "1. ".repeat(11_000),
    ...Array.from({ length: 12 }, () => "_a__b ".repeat(650)),
  ].join("\n\n");
  const { signIn } = await servePage([{ steps: [{ reply: [{ text: `${slow}\n\nThe **end**.`, chunks: 20 }] }] }]);
  const window = await open(signIn);
  const session = await window.page.context().newCDPSession(window.page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "ScriptDuration")!.value * 1000;
  };
  const before = await busy();
  await startSession(window, "say it");
  await window.page.locator(".turn").getByText("end").last().waitFor({ timeout: 30_000 });
  // 150 ms for the message, one block that was begun, and what each flush may try.
  expect((await busy()) - before).toBeLessThan(3_000);
  expect(await window.page.locator(".plain").count()).toBeGreaterThan(3);
});
