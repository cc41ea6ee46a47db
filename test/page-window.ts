// A window of a real browser on the page of a built program. What the page must never do is counted from its first moment on.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { findChromium } from "../packages/run-reports/test/browser/chromium.js";
import { type AtEnd, addressOf, startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

export const TOKEN = "a-master-token-of-some-length";
export const GREET = "export const greet = (name) => 'Hello, ' + name + '!';\n";

export interface PageWindow {
  readonly page: Page;
  /** Scripts that ran and should not have, violations of the page's policy, errors, and requests to elsewhere. */
  problems(): Promise<string[]>;
  /** What the conversation says, without the page's own words. */
  conversation(): Promise<string>;
}

/** One browser for a test file. */
export function createBrowser(atEnd: AtEnd) {
  let starting: Promise<Browser> | undefined;
  const browser = () => {
    // As root Chromium has no sandbox of its own.
    starting ??= chromium.launch({ executablePath: findChromium()!, args: ["--no-sandbox"] });
    return starting;
  };
  atEnd(async () => {
    await (await starting)?.close();
  });
  return async (address: string, options: BrowserContextOptions = {}): Promise<PageWindow> => {
    const context = await (await browser()).newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => void dialog.accept());
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.origin !== new URL(address).origin && url.protocol !== "data:" && url.protocol !== "blob:")
        problems.push(`request: ${request.url()}`);
    });
    // Text, because it runs in the browser, whose names this program does not have.
    await page.addInitScript(`
      const pageProblems = [];
      globalThis.canary = () => pageProblems.push("script ran");
      globalThis.pageProblems = () => pageProblems;
      addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) =>
        pageProblems.push(["policy:", violatedDirective, blockedURI, sample].join(" ")));
    `);
    await page.goto(address);
    return {
      page,
      problems: async () => [...problems, ...(await page.evaluate<string[]>("pageProblems()"))],
      conversation: () => page.locator("[role=log]").innerText(),
    };
  };
}

export interface ServeOptions {
  readonly home?: string;
  readonly cwd?: string;
  readonly port?: string;
  readonly args?: readonly string[];
}

/** A program with a token, a workspace, and a model that says what the test says. */
export async function servePage(turns: readonly object[], options: ServeOptions = {}) {
  const files = scratchTree({ "model.json": { price: { input: 3, output: 15 }, turns } });
  writeFileSync(join(files, "token"), TOKEN, { mode: 0o600 });
  const cwd = options.cwd ?? scratchTree({ "greet.js": GREET, "README.md": "# Greeter\n" });
  const model = ["--model", `scripted:${join(files, "model.json")}`];
  const token = ["--auth-token-file", join(files, "token")];
  const args = ["serve", "--http", "--port", options.port ?? "0", ...token, ...model, ...(options.args ?? [])];
  const program = startProgram("otter", args, {}, { cwd, ...(options.home && { home: options.home }) });
  const address = await addressOf(program);
  await expect.poll(() => program.stderr(), { timeout: 10_000 }).toMatch(/#code=\S+\s/);
  /** A route, as the operator calls it. */
  const ask = async (route: string, body?: object) => {
    const [method = "GET", path = "/"] = route.split(" ");
    const headers = { authorization: `Bearer ${TOKEN}`, ...(body && { "content-type": "application/json" }) };
    const response = await fetch(address + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    // biome-ignore lint/suspicious/noExplicitAny: a body is whatever arrived; each test says what it expects of it.
    return (await response.json()) as any;
  };
  return { program, address, cwd, ask, signIn: /http\S+#code=\S+/.exec(program.stderr())![0] };
}

export async function startSession({ page }: PageWindow, prompt: string): Promise<void> {
  await page.getByRole("link", { name: "New", exact: true }).click();
  await page.getByLabel("Prompt").fill(prompt);
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByRole("log").waitFor();
}
