// The command `chimera`, as a process: it is the program it names, down to exit codes and signals.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "./peer.js";
import { addressOf, startProgram } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";

const { version } = JSON.parse(readFileSync(join(repositoryRoot, "apps/chimera/package.json"), "utf8"));

/** Runs a built program to its end, in a home of its own. */
function run(name: "otter" | "ferret" | "chimera", ...args: string[]) {
  const [cwd, home] = [scratchTree({}), scratchTree({})];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(repositoryRoot, "apps", name, "dist/cli.js"), ...args],
    { cwd, env: { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: home }, encoding: "utf8" },
  );
  return { code: status, stdout, stderr };
}

test("help names the programs, and asking for nothing asks for help", () => {
  const { code, stdout } = run("chimera", "--help");
  expect(code).toBe(0);
  for (const name of ["otter", "ferret"]) {
    const { description } = JSON.parse(readFileSync(join(repositoryRoot, "apps", name, "package.json"), "utf8"));
    expect(stdout).toMatch(new RegExp(`^  ${name} +${description.replace(/\./g, "\\.")}$`, "m"));
  }
  for (const words of [[], ["help"], ["-h"], ["help", "--help"]]) expect(run("chimera", ...words).stdout).toBe(stdout);
});

test("--version is its own, and after a program's name that program's", () => {
  expect(run("chimera", "--version").stdout).toBe(`chimera ${version}\n`);
  expect(run("chimera", "-V").stdout).toBe(`chimera ${version}\n`);
  expect(run("chimera", "otter", "--version").stdout).toBe(run("otter", "--version").stdout);
  expect(run("chimera", "ferret", "-V").stdout).toBe(run("ferret", "-V").stdout);
});

test.each([
  ["oter", 'chimera: unknown program "oter"; did you mean otter?\n'],
  ["mink", 'chimera: unknown program "mink"; see chimera --help\n'],
  ["--acp", 'chimera: unknown program "--acp"; see chimera --help\n'],
  ["", 'chimera: unknown program ""; see chimera --help\n'],
  ["constructor", 'chimera: unknown program "constructor"; see chimera --help\n'],
  ["../otter\n", 'chimera: unknown program "../otter\\n"; see chimera --help\n'],
])("an unknown program, %j, is a mistake in what was typed", (name, said) => {
  expect(run("chimera", name, "serve")).toEqual({ code: 2, stdout: "", stderr: said });
});

test("what a program says to type can be typed", () => {
  const help = run("chimera", "otter", "serve", "--help");
  expect(help.stdout).toContain("Usage: chimera otter serve [status | stop] [options]");
  expect(help.stdout).toContain("Example: chimera otter serve --http --port 5173");
  expect(help.stdout.replaceAll("chimera otter", "otter")).toBe(run("otter", "serve", "--help").stdout);
  expect(run("chimera", "help", "otter", "serve")).toEqual(help);
  expect(run("chimera", "help", "ferret").stdout).toContain("Usage: chimera ferret [options]");
  expect(run("chimera", "ferret", "serv").stderr).toBe('chimera ferret: unknown command "serv"; did you mean serve?\n');
  expect(run("chimera", "otter", "serve", "--prot", "1").stderr).toMatch(/^chimera otter serve: unknown option --prot/);
});

test.each([
  ["done", ["-p", "list files"]],
  ["failed", ["sessions", "show", "otter-20260101T000000-00000000"]],
  ["a mistake in what was typed", ["sessions", "list", "--limit", "many"]],
])("exit code and answer are the program's: %s", (_case, args) => {
  const [direct, through] = [run("otter", ...args), run("chimera", "otter", ...args)];
  const plain = (text: string) =>
    text.replaceAll("chimera otter", "otter").replace(/otter-\d{8}T\S+|chimera-gate-\w+/g, "…");
  expect(through.code).toBe(direct.code);
  expect(plain(through.stdout)).toBe(plain(direct.stdout));
  expect(plain(through.stderr)).toBe(plain(direct.stderr));
});

test("chimera otter serve is otter's server, in one process that ends on a signal", async () => {
  const program = startProgram("chimera", ["otter", "serve", "--port", "0"]);
  const address = await addressOf(program);
  expect((await fetch(`${address}/health`)).status).toBe(200);
  expect(program.stderr()).toContain("chimera otter serve stop --port");
  const pidfile = join(program.home, "run", `otter-${new URL(address).port}.pid`);
  expect(JSON.parse(readFileSync(pidfile, "utf8")).pid).toBe(program.child.pid);
  program.child.kill("SIGTERM");
  expect(await program.exited).toBe(0);
  expect(existsSync(pidfile)).toBe(false);
});

test("chimera ferret serve is ferret on stdin and stdout, until the input ends", async () => {
  const peer = connect(startProgram("chimera", ["ferret", "serve"]));
  const { result } = await peer.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  expect(result.agentInfo.name).toBe("ferret");
  peer.program.child.stdin.end();
  expect(await peer.program.exited).toBe(0);
});

test("the install line of the README gives the command, from wherever it is called", { timeout: 60_000 }, async () => {
  const readme = readFileSync(join(repositoryRoot, "README.md"), "utf8");
  const [, folder = ""] = /^npm run build && npm install -g (\S+)/m.exec(readme) ?? [];
  const prefix = scratchTree({});
  const install = spawn("npm", ["install", "-g", "--prefix", prefix, "--offline", "--no-audit", "--no-fund", folder], {
    cwd: repositoryRoot,
    stdio: "ignore",
  });
  onTestFinished(() => void install.kill("SIGKILL"));
  expect(await once(install, "exit")).toEqual([0, null]);
  const home = scratchTree({});
  const env = { PATH: `${join(prefix, "bin")}${delimiter}${process.env["PATH"]}`, HOME: home, CHIMERA_HOME: home };
  const { status, stdout } = spawnSync("chimera", ["otter", "models"], { cwd: home, env, encoding: "utf8" });
  expect(stdout).toContain("offline");
  expect(status).toBe(0);
});
