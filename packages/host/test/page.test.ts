import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { freePort, makeHome, type Running, start } from "./program.js";

const program = fileURLToPath(new URL("fixtures/paged.mjs", import.meta.url));

async function serve(flags: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Running & { url: string }> {
  const home = env["HOME"] ?? (await makeHome());
  const port = await freePort();
  const server = start(home, ["serve", "--port", String(port), ...flags], { program, env });
  await server.until("listening on");
  return { ...server, url: `http://127.0.0.1:${port}` };
}

/** The code in an address that was printed or opened. */
function codeIn(text: string): string {
  return /#code=([\w-]{43})\b/.exec(text)?.[1] ?? "";
}

async function exchange(url: string, code: string): Promise<{ status: number; token: string }> {
  const headers = { "content-type": "application/json", origin: url };
  const response = await fetch(`${url}/page/tokens`, { method: "POST", headers, body: JSON.stringify({ code }) });
  return { status: response.status, token: ((await response.json()) as { token: string }).token };
}

async function statusOf(url: string, token?: string): Promise<number> {
  return (await fetch(url, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })).status;
}

it("prints the page's address with a code that signs in once, and without the token", async () => {
  const server = await serve(["--auth-token", "a-token-of-our-own"]);
  await server.until("#code=");
  const { stderr } = server.said();
  expect(stderr).toContain(`: ${server.url}/#code=`);
  expect(stderr).not.toContain("a-token-of-our-own");
  expect(await (await fetch(server.url)).text()).toBe("<title>a page</title>");
  expect(await statusOf(`${server.url}/sessions`)).toBe(401);
  const { status, token } = await exchange(server.url, codeIn(stderr));
  expect(status).toBe(201);
  expect(await statusOf(`${server.url}/sessions`, token)).toBe(200);
  expect((await exchange(server.url, codeIn(stderr))).status).toBe(401);
});

it("prints no code when no token is set, and the page can call without one", async () => {
  const server = await serve([]);
  expect(await statusOf(server.url)).toBe(200);
  expect(await statusOf(`${server.url}/sessions`)).toBe(200);
  expect(server.said().stderr).not.toContain("#code=");
});

it("--no-page serves the API alone", async () => {
  const server = await serve(["--no-page", "--auth-token", "a-token-of-our-own"]);
  expect(await statusOf(server.url, "a-token-of-our-own")).toBe(404);
  expect(await statusOf(`${server.url}/sessions`, "a-token-of-our-own")).toBe(200);
  expect(server.said().stderr).not.toContain("#code=");
});

it("--open opens a browser with the address and a code for the user who started the server", async () => {
  const home = await makeHome();
  const opened = join(home, "opened");
  writeFileSync(join(home, "xdg-open"), `#!/bin/sh\nprintf %s "$1" > ${opened}\n`);
  chmodSync(join(home, "xdg-open"), 0o755);
  const PATH = `${home}:${process.env["PATH"]}`;
  const server = await serve(["--open", "--auth-token", "a-token-of-our-own"], { PATH, HOME: home });
  const address = await vi.waitFor(() => readFileSync(opened, "utf8"));
  expect(address).toContain(`${server.url}/#code=`);
  expect((await exchange(server.url, codeIn(address))).status).toBe(201);
});

it("--open prints the address when there is no browser, and is refused without a page", async () => {
  const home = await makeHome();
  writeFileSync(join(home, "sh"), "#!/bin/false\n");
  chmodSync(join(home, "sh"), 0o755);
  const server = await serve(["--open"], { PATH: home, HOME: home });
  await server.until(`no browser could be started: open ${server.url}/\n`);
  const refused = start(home, ["serve", "--open", "--no-page"], { program });
  expect(await refused.ended).toMatchObject({ code: 2, stderr: expect.stringContaining("--open shows the page") });
});
