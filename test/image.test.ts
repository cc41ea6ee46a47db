// The image of `deploy`: what it is made of, run as it runs it, since no test has Docker.
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { repositoryRoot, scratchTree } from "./scratch.js";
import { freePort } from "./server.js";

const dockerfile = readFileSync(join(repositoryRoot, "deploy", "Dockerfile"), "utf8");

/** A program of the image as the image runs it: a user of its own, a root that cannot be written to, no user namespaces, as Docker's profile has it. */
function contained(program: "otter" | "ferret", command: string[]): string[] {
  const root = scratchTree({});
  mkdirSync(join(root, "data"), { mode: 0o700 });
  mkdirSync(join(root, "work"));
  cpSync(join(repositoryRoot, "apps", program, "dist"), join(root, "opt"), { recursive: true });
  const binds = [
    "--bind",
    join(root, "data"),
    "/tmp/data",
    "--bind",
    join(root, "work"),
    "/tmp/work",
    "--ro-bind",
    join(root, "opt"),
    "/tmp/opt",
  ];
  const env = [
    "--setenv",
    "CHIMERA_HOME",
    "/tmp/data",
    "--setenv",
    "HOME",
    "/nonexistent",
    "--setenv",
    "NODE_ENV",
    "production",
  ];
  const user = ["--unshare-user", "--uid", "10001", "--gid", "10001", "--disable-userns"];
  const base = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--die-with-parent"];
  return [
    ...base,
    ...binds,
    ...user,
    ...env,
    "--chdir",
    "/tmp/work",
    "--",
    process.execPath,
    "/tmp/opt/cli.js",
    ...command,
  ];
}

const NOBODY = 65_534;

/** Says at the end which files a program had to compile. */
const COUNT_COMPILED = `
const vm = require("node:vm");
const compiled = [];
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    if (!options.cachedData || this.cachedDataRejected) compiled.push(options.filename);
  }
};
process.on("exit", () => console.error("compiled: " + (compiled.join(" ") || "none")));
`;

test("what the image is made of serves with a read-only root, and its health check says so", {
  tags: ["needs-sandbox", "needs-bwrap"],
}, async () => {
  const [, check = ""] = /^HEALTHCHECK[^\n]*\\\n\s+CMD (.+)$/m.exec(dockerfile) ?? [];
  const [, command = ""] = /^CMD (.+)$/m.exec(dockerfile) ?? [];
  const port = await freePort();
  const flags = (JSON.parse(command) as string[]).map((one) =>
    one.replace("0.0.0.0", "127.0.0.1").replace("5173", String(port)),
  );
  const child = spawn("bwrap", contained("otter", flags), { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  const exited = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const [node = "", ...args] = (JSON.parse(check) as string[]).map((one) => one.replace("5173", String(port)));
  await expect.poll(() => (spawnSync(node, args).status === 0 ? 0 : said), { timeout: 15_000 }).toBe(0);
  const ask = (path: string, body?: unknown) =>
    fetch(
      `http://127.0.0.1:${port}${path}`,
      body === undefined
        ? {}
        : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
    );
  const made = (await (await ask("/sessions", { prompt: "write a.txt: words", mode: "auto" })).json()) as {
    session_id: string;
  };
  expect(await (await ask(`/sessions/${made.session_id}/events`)).text()).toContain('"success":true');
});

test("the image's code is compiled when it is built, by its owner; the user who serves compiles none of it", {
  tags: ["needs-root"],
}, async () => {
  const [, script = "", program = ""] = /^RUN .*node (\S+) (\S+)$/m.exec(dockerfile) ?? [];
  const root = scratchTree({ "count.cjs": COUNT_COMPILED });
  const dist = join(root, "dist");
  cpSync(join(repositoryRoot, dirname(program)), dist, { recursive: true });
  rmSync(join(dist, "compiled"), { recursive: true, force: true });
  await promisify(execFile)(process.execPath, [join(repositoryRoot, script), join(dist, basename(program))]);
  expect(readdirSync(join(dist, "compiled"))).toEqual(expect.arrayContaining(["app.bin", "turn.bin", "web-page.bin"]));

  const home = join(root, "home");
  mkdirSync(home);
  chownSync(home, NOBODY, NOBODY);
  chmodSync(root, 0o755);
  const args = ["--require", join(root, "count.cjs"), join(dist, "cli.js"), "serve", "--port", "0"];
  const server = spawn(process.execPath, args, {
    ...{ cwd: home, uid: NOBODY, gid: NOBODY },
    env: { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: home },
  });
  onTestFinished(() => void server.kill("SIGKILL"));
  let said = "";
  server.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  await expect.poll(() => said).toMatch(/listening on/);
  const [address = ""] = /http:\S+/.exec(said) ?? [];
  await expect.poll(async () => (await fetch(`${address}/readyz`)).status, { timeout: 10_000 }).toBe(200);
  server.kill("SIGTERM");
  await once(server, "close");
  expect(said).toContain("compiled: none");
});

test("a container that forbids user namespaces: confined commands are refused, and it is said what the container needs", {
  tags: ["needs-sandbox", "needs-bwrap"],
}, () => {
  const { stdout } = spawnSync("bwrap", contained("ferret", ["-p", "run `ls`"]), {
    encoding: "utf8",
    timeout: 60_000,
  });
  expect(stdout).toMatch(
    /blocked by sandbox mode .*allow unprivileged user namespaces.*--security-opt seccomp=unconfined/s,
  );
});
