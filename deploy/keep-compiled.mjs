// Runs a built program once as its owner, so that what V8 makes of its code is kept beside it (decision 0174). A server that runs as another
// user, as in the image, reads that and could not write it.
//
// node deploy/keep-compiled.mjs apps/otter/dist/cli.js
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [program] = process.argv.slice(2);
if (program === undefined) throw new Error("name the program: node deploy/keep-compiled.mjs apps/otter/dist/cli.js");
const home = mkdtempSync(join(tmpdir(), "keep-compiled-"));
const server = spawn(process.execPath, [program, "serve", "--port", "0", "--cwd", home], {
  env: { ...process.env, CHIMERA_HOME: home },
  stdio: ["ignore", "ignore", "pipe"],
});
const ended = once(server, "exit");
try {
  const address = await listening();
  for (const path of ["/", "/healthz", "/sessions"]) await ask(path);
  const body = JSON.stringify({ prompt: "list files", model: "offline" });
  const headers = { "content-type": "application/json" };
  const { session_id: id } = JSON.parse(await ask("/sessions", { method: "POST", headers, body }));
  // The stream ends with the turn.
  await ask(`/sessions/${id}/events`);

  async function ask(path, options) {
    const response = await fetch(address + path, options);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.text();
  }
} finally {
  server.kill("SIGTERM");
  await ended;
  rmSync(home, { recursive: true, force: true });
}

/** The address that the server says it listens on. */
async function listening() {
  for await (const line of createInterface({ input: server.stderr })) {
    const [address] = /http:\/\/\S+:\d+/.exec(line) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error(`${program} does not serve`);
}
