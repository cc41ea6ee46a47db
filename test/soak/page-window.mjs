// One window on the page for the whole run: it shows the list and one session after another, and its heap is measured.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";
import { pause } from "./chance.mjs";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** null where there is no Chromium. */
export async function openPageWindow({ address, token }) {
  const places = process.env.PATH.split(delimiter).flatMap((place) => NAMES.map((name) => join(place, name)));
  const executablePath = places.find((path) => existsSync(path));
  if (!executablePath) return null;
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await browser.newPage();
  const [heaps, problems] = [[], []];
  page.on("pageerror", ({ message }) => problems.push(message));
  page.on("dialog", (dialog) => void dialog.accept());
  const headers = { authorization: `Bearer ${token}` };
  const { code } = await (await fetch(`${address}/page/codes`, { method: "POST", headers })).json();
  await page.goto(`${address}/#code=${code}`);
  await page.getByRole("link", { name: "Sessions" }).waitFor();
  const devtools = await page.context().newCDPSession(page);

  let isOpen = true;
  let rests = false;
  const looking = (async () => {
    while (isOpen) {
      await pause(3000);
      if (rests) continue;
      // Only what this server has open: a look at any other would open it here, in the way of the server that it belongs to.
      const { sessions } = await (await fetch(`${address}/sessions?state=live&limit=1`, { headers })).json();
      const id = sessions[0]?.session_id;
      if (id) await page.goto(`${address}/#/s/${id}`).catch((error) => isOpen && problems.push(error.message));
    }
  })();
  return {
    heaps,
    problems,
    /** Until it was measured: a server at rest is asked nothing. */
    rest() {
      rests = true;
    },
    async atRest() {
      await devtools.send("HeapProfiler.collectGarbage");
      heaps.push((await devtools.send("Runtime.getHeapUsage")).usedSize);
      rests = false;
    },
    async close() {
      isOpen = false;
      await looking;
      await browser.close();
    },
  };
}
