// Many servers start at once on one port: exactly one may win, and every other one says who has it.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../../../apps/otter/dist/cli.js", import.meta.url));

/** @returns {Promise<{ winners: number, refused: number, other: string[] }>} */
export async function raceStarts(count) {
  const home = await mkdtemp(join(tmpdir(), "chimera-starts-"));
  const port = String(await freePort());
  const env = { PATH: process.env.PATH, HOME: home, CHIMERA_HOME: home };
  const tally = { winners: 0, refused: 0, other: [] };
  const servers = Array.from({ length: count }, () => startServer(["serve", "--port", port], env, tally));
  await Promise.all(servers.map(({ settled }) => settled));
  for (const { child } of servers) child.kill("SIGTERM");
  await Promise.all(servers.map(({ gone }) => gone));
  await rm(home, { recursive: true });
  return tally;
}

function startServer(args, env, tally) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ["ignore", "ignore", "pipe"] });
  const gone = new Promise((resolve) => child.once("close", resolve));
  let said = "";
  const listening = new Promise((resolve) => {
    child.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
      if (said.includes("listening on")) resolve("listening");
    });
  });
  const settled = Promise.race([listening, gone]).then((how) => {
    if (how === "listening") tally.winners++;
    else if (how === 2 && said.includes("already running on port")) tally.refused++;
    else tally.other.push(`exit ${how}: ${said.trim()}`);
  });
  return { child, gone, settled };
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
