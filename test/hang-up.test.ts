// A hang-up while a turn runs. A server that serves an editor on stdio, or that has a terminal, ends as they do: nothing is left of it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "./peer.js";
import { startProgram } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";

/** A turn that runs until it is cancelled; its command writes its own pid. */
const PROMPT = "run `echo $$ > command; exec sleep 600`";

interface Server {
  readonly cwd: string;
  readonly home: string;
}

const pidfiles = ({ home }: Server) =>
  existsSync(join(home, "run")) ? readdirSync(join(home, "run")).filter((name) => name.endsWith(".pid")) : [];

/** The process of the running turn's command. */
async function commandOf({ cwd }: Server): Promise<number> {
  const said = () => (existsSync(join(cwd, "command")) ? readFileSync(join(cwd, "command"), "utf8") : "");
  await expect.poll(said, { timeout: 20_000 }).toMatch(/^\d+\n$/);
  return Number(said());
}

/** The turn has its last record, its command has ended, and no pidfile is left. */
function expectNothingLeft(server: Server, command: number): void {
  const log = join(server.home, "eventlog");
  const [id] = readdirSync(log).filter((name) => name.startsWith("otter-"));
  const [segment] = readdirSync(join(log, id!)).filter((name) => name.startsWith("event-"));
  const records = readFileSync(join(log, id!, segment!), "utf8")
    .trimEnd()
    .split("\n");
  expect(JSON.parse(records.at(-1)!)).toMatchObject({ type: "cancelled", turn: 0 });
  expect(() => process.kill(command, 0)).toThrow("ESRCH");
  expect(pidfiles(server)).toEqual([]);
}

test.for([
  ["alone", []],
  ["beside HTTP", ["--http", "--port", "0"]],
] as const)("a hang-up ends a server that serves an editor on stdio, %s", async ([, http]) => {
  const { program, request } = connect(startProgram("otter", ["serve", "--acp", ...http, "--mode", "auto"]));
  await request("initialize", { protocolVersion: 1 });
  const { result } = await request("session/new", { cwd: program.cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: PROMPT }];
  const answered = request("session/prompt", { sessionId: result.sessionId, prompt });
  const command = await commandOf(program);
  expect(pidfiles(program)).toHaveLength(http.length > 0 ? 1 : 0);
  program.child.kill("SIGHUP");
  expect(await program.exited).toBe(0);
  expect((await answered).result).toMatchObject({ stopReason: "cancelled" });
  expectNothingLeft(program, command);
});

/** Runs a program on a terminal of its own, closes that with the next line on stdin, and says how the program ended. */
const TERMINAL = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
sys.stdin.readline()
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
`;

test.for([
  ["the terminal", ""],
  ["a file", " 2>log.txt"],
] as const)(
  "a server whose terminal closes ends with it, also when its log goes to %s",
  {
    tags: ["needs-python3"],
  },
  async ([, redirection]) => {
    const server = { cwd: scratchTree({}), home: scratchTree({}) };
    const cli = join(repositoryRoot, "apps/otter/dist/cli.js");
    const line = `exec "$0" "$@" serve --port 0 --mode auto${redirection}`;
    const started = spawn("/usr/bin/python3", ["-c", TERMINAL, "/bin/sh", "-c", line, process.execPath, cli], {
      cwd: server.cwd,
      env: { PATH: process.env["PATH"], HOME: server.cwd, CHIMERA_HOME: server.home },
    });
    const ended = once(started, "close");
    onTestFinished(async () => {
      started.stdin.end();
      await ended;
    });
    await expect.poll(() => pidfiles(server), { timeout: 20_000 }).toHaveLength(1);
    const [, port] = /-(\d+)\.pid$/.exec(pidfiles(server)[0]!)!;
    const { status } = await fetch(`http://127.0.0.1:${port}/sessions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ prompt: PROMPT }),
    });
    expect(status).toBe(201);
    const command = await commandOf(server);
    started.stdin.end("close\n");
    const [code] = await once(started.stdout.setEncoding("utf8"), "data");
    expect(code).toBe("0\n");
    expectNothingLeft(server, command);
  },
);
