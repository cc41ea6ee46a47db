// A real VS Code in a browser: code-server from npm, with the packaged extension installed.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Browser, chromium, type Page } from "playwright-core";
import { packageExtension } from "../../tools/vscode/package.mjs";
import { repositoryRoot } from "../scratch.js";

/** Downloads are kept: code-server is 600 MB, and some of its modules are compiled. */
const cache = process.env["CHIMERA_VSCODE_CACHE"] ?? join(repositoryRoot, "node_modules", ".cache", "vscode");
const NODE = join(cache, "node_modules", "node", "bin");
const CODE_SERVER = join(cache, "node_modules", "code-server", "out", "node", "entry.js");

export interface Window {
  readonly page: Page;
  readonly cwd: string;
  close(): Promise<void>;
}

/** Opens a folder in VS Code, with the extension set to run ferret on a script of the model. */
export async function openWindow(files: Record<string, string>, turns: object[]): Promise<Window> {
  install();
  const home = mkdtempSync(join(tmpdir(), "chimera-vscode-"));
  const write = (path: string, text: string) => {
    mkdirSync(join(home, path, ".."), { recursive: true });
    writeFileSync(join(home, path), text);
  };
  for (const [name, text] of Object.entries(files)) write(`work/${name}`, text);
  write("script.json", JSON.stringify({ turns }));
  const ferret = join(repositoryRoot, "apps", "ferret", "dist", "cli.js");
  const model = `scripted:${join(home, "script.json")}`;
  const settings = {
    "chimera.command": process.execPath,
    "chimera.args": [ferret, "serve", "--sandbox", "workspace-write", "--approval", "auto", "--model", model],
    "workbench.startupEditor": "none",
    "chat.disableAIFeatures": true,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
  };
  for (const scope of ["User", "Machine"]) write(`data/${scope}/settings.json`, JSON.stringify(settings));
  const cwd = join(home, "work");
  const env = {
    PATH: `${NODE}${delimiter}${process.env["PATH"]}`,
    HOME: home,
    CHIMERA_HOME: join(home, "chimera"),
  };
  const own = ["--user-data-dir", join(home, "data"), "--extensions-dir", join(home, "extensions")];
  const node = join(NODE, "node");
  execFileSync(node, [CODE_SERVER, ...own, "--install-extension", packageExtension(join(home, "vsix"))], {
    env,
    stdio: "pipe",
  });

  const port = await freePort();
  const flags = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check"];
  const server = spawn(node, [CODE_SERVER, ...own, ...flags, "--disable-workspace-trust", cwd], {
    env,
    stdio: "pipe",
    detached: true,
  });
  let browser: Browser | undefined;
  const close = async () => {
    await browser?.close();
    // A group of its own: the extension host and the agent go with it.
    if (server.pid !== undefined && server.exitCode === null) process.kill(-server.pid, "SIGKILL");
    await pause(200);
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await until(() => fetch(`http://127.0.0.1:${port}/healthz`).then(({ ok }) => ok));
    browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: BROWSER_FLAGS });
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(cwd)}`);
    await page.locator(".monaco-workbench").waitFor({ timeout: 60_000 });
    return { page, cwd, close };
  } catch (error) {
    await close();
    throw error;
  }
}

// --- internal ---

const BROWSER_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

function install(): void {
  if (existsSync(CODE_SERVER)) return;
  console.log(`installing code-server into ${cache}: some minutes, once`);
  // What an install that failed left behind makes the next one fail too.
  for (const name of ["node_modules", "package-lock.json"]) rmSync(join(cache, name), { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "package.json"), '{"private":true}\n');
  const npm = (...args: string[]) => {
    // `npm run` says which Node it runs on, and code-server's script reads that instead of asking the Node that it gets.
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"));
    const env = { ...Object.fromEntries(own), PATH: `${NODE}${delimiter}${process.env["PATH"]}` };
    const { status, stdout, stderr } = spawnSync("npm", ["install", "--no-audit", "--no-fund", ...args], {
      cwd: cache,
      env,
      encoding: "utf8",
      maxBuffer: 1 << 30,
    });
    if (status !== 0) throw new Error(`npm install ${args.join(" ")} failed:\n${`${stdout}${stderr}`.slice(-4000)}`);
  };
  npm("node@24");
  npm("code-server@4.139.1", "--foreground-scripts");
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await holds().catch(() => false)) return;
    await pause(100);
  }
  throw new Error("code-server did not answer within 30 s");
}
