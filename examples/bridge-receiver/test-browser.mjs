// Drives the page in Chromium on a phone's screen: prompt, question, answer, a receiver that goes away and comes back.
// `node test-browser.mjs [folder for screenshots]`; CHROMIUM names another binary.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { startDemoProgram } from "./demo-program.mjs";
import { startReceiver } from "./receiver.mjs";

const token = "token-of-this-check";
const folder = process.argv[2];
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
if (!existsSync(executablePath)) execFileSync("apt-get", ["install", "-y", "chromium"], { stdio: "inherit" });

let receiver = await startReceiver({ token });
const program = await startDemoProgram({ remoteUrl: receiver.url, token });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const faults = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  while (!program.bridge.status().uiUrl) await new Promise((resolve) => setTimeout(resolve, 20));
  await page.goto(program.bridge.status().uiUrl);
  await page.getByText("live", { exact: true }).waitFor();

  await page.getByLabel("Prompt").fill("Water the garden <img src=x onerror=alert(1)>");
  await page.getByRole("button", { name: "Send" }).tap();
  await page.getByText("Allow this command?").waitFor();
  await page.getByText("medium risk").waitFor();
  await page.getByText("working").waitFor();
  assert.equal(await page.locator("img").count(), 0);
  await shoot(page, "question");

  await page.getByRole("button", { name: "Allow once" }).tap();
  await page.getByText("Everything is watered.").waitFor();
  assert.equal(await page.getByText("Allow this command?").count(), 0);
  await page.getByText("Edit beds.txt").tap();
  await page.getByText("+ tomatoes: wet").waitFor();
  await shoot(page, "answered");

  const drawn = await page.locator("main > *").count();
  const port = Number(new URL(receiver.url).port);
  await receiver.close();
  await page.getByText("connecting").waitFor();
  program.session.prompt({ text: "Once more" });
  receiver = await startReceiver({ token, port });
  await page.getByText("Allow this command?").waitFor();
  await page.getByRole("button", { name: "Reject", exact: true }).tap();
  await page.getByText("Not pushed, as you wish.").waitFor();
  assert.equal(await page.locator("main > .asked").count(), 2);
  assert.equal(await page.locator("main > *").count(), drawn * 2);
  await shoot(page, "back");

  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.equal(overflow, 0);
  assert.deepEqual(faults, []);
  console.log("the page works on a phone's screen");
} finally {
  await browser.close();
  await program.stop();
  await receiver.close();
}

async function shoot(page, name) {
  if (!folder) return;
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
  }
}
