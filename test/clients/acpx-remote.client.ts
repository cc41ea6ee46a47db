// acpx from npm through `acp --connect`, while the link is cut 50 times and the server is killed and started again.
import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startLink } from "../link.js";
import { addressOf, type Program, startProgram } from "../program.js";
import { repositoryRoot } from "../scratch.js";
import { install, removeHome } from "./home.js";

const ROUNDS = 10;
const CUTS = 5;
const words = Array.from({ length: 300 }, (_, n) => `w${n}`);

test("the conversation continues, and nothing is lost or doubled", { timeout: 600_000 }, async () => {
  const home = mkdtempSync(join(tmpdir(), "chimera-acpx-remote-"));
  onTestFinished(() => removeHome(home));
  // The last version that runs on Node 20.
  install(home, "acpx@0.1.15");
  const script = join(home, "script.json");
  const turn = { steps: [{ reply: [{ text: `${words.join(" ")} `, chunks: 300, delayMs: 5 }] }] };
  writeFileSync(script, JSON.stringify({ repeat: true, turns: [turn] }));
  const start = (port: number) =>
    startProgram("otter", ["serve", "--port", String(port), "--model", `scripted:${script}`], {}, { cwd: home, home });
  let server: Program = start(0);
  const port = Number(new URL(await addressOf(server)).port);
  const link = await startLink(() => port);

  const cli = join(repositoryRoot, "apps", "otter", "dist", "cli.js");
  const agent = `${process.execPath} ${cli} acp --connect http://127.0.0.1:${link.port}`;
  const acpx = (...args: string[]) =>
    new Promise<string>((resolve) => {
      const client = join(home, "node_modules", "acpx", "dist", "cli.js");
      const env = { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: join(home, "relay") };
      const options = ["--cwd", home, "--ttl", "60", "--format", "quiet", "--agent", agent];
      execFile(process.execPath, [client, ...options, ...args], { env, timeout: 120_000 }, (error, stdout, stderr) =>
        resolve(error ? `${stdout}${stderr}\nexit ${error.code}` : stdout),
      );
    });
  const heard = (output: string) => output.match(/w\d+/g) ?? [];

  await acpx("sessions", "new", "--name", "work");
  for (let round = 0; round < ROUNDS; round++) {
    const answer = acpx("prompt", "-s", "work", `round ${round}`);
    let isOver = false;
    void answer.then(() => {
      isOver = true;
    });
    for (let cuts = 0; cuts < CUTS; cuts++) {
      await new Promise((resolve) => setTimeout(resolve, isOver ? 0 : 150 + Math.random() * 350));
      link.cut();
    }
    const output = await answer;
    expect(heard(output).join(" "), `round ${round}: ${output.slice(-500)}`).toBe(words.join(" "));
    if (round % 3 !== 2) continue;
    server.child.kill("SIGKILL");
    await server.exited;
    server = start(port);
    await addressOf(server);
  }
  expect(await acpx("sessions", "close", "work")).not.toContain("exit");
});
