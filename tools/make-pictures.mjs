#!/usr/bin/env node
// The pictures of the README, made from the built program: a conversation in a terminal, the same session as an HTML
// transcript, and one in the page while it asks. Needs tmux and chromium, which is why no test runs it.
//   npm run build && node tools/make-pictures.mjs
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { chromium } from "playwright-core";
import { drawScreens } from "./terminal-svg.mjs";

const repository = join(dirname(fileURLToPath(import.meta.url)), "..");
const pictures = join(repository, "docs", "pictures");
const cli = join(repository, "apps", "otter", "dist", "cli.js");
const COLUMNS = 84;
/** Of the terminal: long paths must not be broken, and are shown short. */
const WIDTH = 160;
const ROWS = 27;

const project = {
  "README.md": "# Greeter\n\nSays hello, in one line of JavaScript.\n",
  "greet.js": "export const greet = (name) => 'Hello, ' + name + '!';\n",
  "greet.test.js": 'import { greet } from "./greet.js";\nif (greet() !== "Hello, world!") throw new Error(greet());\n',
  "package.json": '{ "name": "greeter", "type": "module" }\n',
};
/** What the model says; the tools, the questions and the files are real. */
const script = {
  price: { input: 3, output: 15 },
  turns: [
    {
      steps: [
        {
          reply: [
            { thought: "The test calls greet() without a name." },
            {
              text: "The test greets nobody in particular. Let me see what `greet` does then.",
              chunks: 6,
              delayMs: 40,
            },
            { call: "Read", args: { path: "greet.js" } },
            { usage: { input: 1840, output: 64 } },
          ],
        },
        {
          reply: [
            { text: "There is no default, so it says `Hello, undefined!`. I'll add one.", chunks: 5, delayMs: 40 },
            { call: "Edit", args: { path: "greet.js", old_string: "(name)", new_string: '(name = "world")' } },
            { usage: { input: 2110, output: 88 } },
          ],
        },
        {
          reply: [{ call: "Bash", args: { command: "node greet.test.js && echo passed" } }],
        },
        {
          reply: [
            { text: "`greet()` now says `Hello, world!`, and the test passes.", chunks: 4, delayMs: 40 },
            { usage: { input: 2390, output: 41 } },
          ],
        },
      ],
    },
  ],
};

const root = mkdtempSync(join(tmpdir(), "chimera-pictures-"));
const folder = join(root, "greeter");
const socket = `chimera-pictures-${process.pid}`;
mkdirSync(folder);
mkdirSync(pictures, { recursive: true });
for (const [name, text] of Object.entries(project)) writeFileSync(join(folder, name), text);
writeFileSync(join(root, "model.json"), JSON.stringify(script));
const env = {
  PATH: process.env.PATH,
  HOME: root,
  CHIMERA_HOME: join(root, "home"),
  TERM: "xterm-256color",
  LANG: "C.UTF-8",
};
try {
  writeFileSync(
    join(pictures, "terminal.svg"),
    drawScreens(await converse(), { columns: COLUMNS, rows: ROWS, title: "otter" }),
  );
  await photograph(join(pictures, "transcript.png"));
  await photographPage(join(pictures, "page.png"));
} finally {
  rmSync(root, { recursive: true, force: true });
}

// --- internal ---

/** Types a conversation into the program, and gives the screens worth showing with how long to look at each. */
async function converse() {
  const tmux = (...args) => execFileSync("tmux", ["-L", socket, ...args], { env, encoding: "utf8" });
  const size = ["-x", String(WIDTH), "-y", String(ROWS)];
  tmux(
    "-f",
    "/dev/null",
    "new-session",
    "-d",
    ...size,
    "-c",
    folder,
    process.execPath,
    cli,
    "--title",
    "A default for greet()",
    "--model",
    `scripted:${root}/model.json`,
  );
  const screen = () => tmux("capture-pane", "-e", "-p").replaceAll(root, "~").trimEnd();
  const shows = async (text) => {
    for (let i = 0; i < 200; i++) {
      if (stripVTControlCharacters(screen()).includes(text)) return pause(150);
      await pause(50);
    }
    throw new Error(`the terminal never shows ${text}:\n${screen()}`);
  };
  const screens = [];
  const keep = (seconds) => screens.push({ text: screen(), seconds });
  try {
    await shows("Ctrl-C");
    keep(1);
    tmux("send-keys", "-l", "why does the test fail? fix it");
    await pause(300);
    keep(1);
    tmux("send-keys", "Enter");
    // One key answers, once the answers are shown.
    await shows("Edit greet.js, the");
    await shows("[y]es");
    keep(3);
    tmux("send-keys", "-l", "y");
    await shows("Bash node greet.test.js");
    await shows("[y]es");
    keep(2);
    tmux("send-keys", "-l", "y");
    await shows("the test passes");
    await pause(500);
    keep(3);
    tmux("send-keys", "-l", "/undo");
    await pause(300);
    tmux("send-keys", "Enter");
    await shows("1 file restored");
    keep(5);
  } finally {
    tmux("kill-server");
  }
  return screens;
}

/** The session as `otter export` writes it, in a browser. */
async function photograph(picture) {
  const otter = (...args) => execFileSync(process.execPath, [cli, ...args], { cwd: folder, env, encoding: "utf8" });
  otter("redo");
  const [{ session_id }] = JSON.parse(otter("sessions", "list", "--json"));
  const page = join(root, "transcript.html");
  // Paths are shown short, and the edit as after a click.
  const html = otter("export", session_id, "html").replaceAll(root, "~");
  writeFileSync(page, html.replace(/<details(?=[^>]*>(?:(?!<details).)*Edit)/s, "<details open"));
  const flags = ["--headless", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1.5"];
  execFileSync("chromium", [...flags, "--window-size=900,900", `--screenshot=${picture}`, `file://${page}`], {
    env,
    stdio: "ignore",
  });
}

/** The page, when the agent asks whether it may edit. */
async function photographPage(picture) {
  writeFileSync(join(folder, "greet.js"), project["greet.js"]);
  const server = spawn(process.execPath, [cli, "serve", "--port", "0", "--model", `scripted:${root}/model.json`], {
    cwd: folder,
    env,
  });
  let said = "";
  server.stderr.on("data", (text) => {
    said += text;
  });
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    while (!/http:\S+/.test(said)) await pause(50);
    const page = await browser.newPage({ viewport: { width: 1180, height: 760 }, deviceScaleFactor: 1.5 });
    await page.goto(`${/http:\S+/.exec(said)[0]}/#/new`);
    await page.getByLabel("Prompt").fill("why does the test fail? fix it");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("alertdialog").getByText('(name = "world")').waitFor();
    // Paths are shown short.
    await page.evaluate((long) => {
      for (const node of document.querySelectorAll(".path, option, .settings summary"))
        node.textContent = node.textContent.replaceAll(long, "~").replace(/scripted:\S*/, "scripted");
    }, root);
    await page.screenshot({ path: picture });
  } finally {
    await browser.close();
    const gone = once(server, "exit");
    server.kill();
    // Until then it writes into the folder that is removed next.
    await gone;
  }
}
