import { execFileSync, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { createSandbox, type SandboxMode } from "../../src/index.js";
import { COMMAND_PATH, type Confinement, visiblePlace } from "../confinements.js";

/** Who runs the commands. A number is an ordinary user to which root switches. */
export type Actor = "self" | number;

export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  readonly ms: number;
}

/** The target of attacks: a workspace, files outside it that must not change, and listeners that must not be reached. */
export interface Ground {
  readonly ws: string;
  readonly out: string;
  readonly home: string;
  readonly secret: string;
  readonly values: Readonly<Record<string, string>>;
  /** Connections, datagrams and socket messages that arrived from inside. */
  reached(): number;
  /** A fingerprint of everything outside the workspace that a command might have changed. */
  fingerprint(): string;
  run(mode: SandboxMode, command: string): Promise<Outcome>;
  close(): Promise<void>;
}

const COMMAND_TIMEOUT_MS = 20_000;

const NEWER_SECRETS = [".claude.json", ".gemini/oauth_creds.json", ".cargo/credentials", ".config/sops/age/keys.txt"];

/** The first line of output of every command, to prove that it ran. */
export const BEGUN = "begun";

export async function layGround(actor: Actor, confinement: Confinement): Promise<Ground> {
  const base = mkdtempSync(join(visiblePlace(), "escape-"));
  const [ws, out, home] = ["ws", "out", "home"].map((name) => join(base, name)) as [string, string, string];
  const secret = `secret-${randomBytes(8).toString("hex")}`;
  for (const path of [
    ws,
    out,
    home,
    join(ws, ".git/hooks"),
    join(ws, "src"),
    join(home, ".ssh"),
    join(home, ".chimera/run"),
  ]) {
    mkdirSync(path, { recursive: true });
  }
  writeFileSync(join(out, "canary"), "canary\n");
  writeFileSync(join(ws, "src/a.txt"), "hello\n");
  writeFileSync(join(ws, ".git/HEAD"), "ref: refs/heads/main\n");
  writeFileSync(
    join(ws, ".git/config"),
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[extensions]\n\tworktreeConfig = true\n",
  );
  for (const path of ["objects", "refs/heads"]) mkdirSync(join(ws, ".git", path), { recursive: true });
  writeFileSync(join(home, ".ssh/id_rsa"), secret);
  writeFileSync(join(home, ".netrc"), secret);
  for (const name of NEWER_SECRETS) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), secret);
  }
  writeFileSync(join(home, ".chimera/run/server.pid"), `{"token":"${secret}"}`);
  chmodSync(base, 0o755);
  if (actor !== "self") giveAway(base, actor);
  if (process.getuid?.() === 0) layTraps(out);
  const token = randomBytes(6).toString("hex");
  const others = ["/tmp", "/var/tmp", "/dev/shm"].map((place) => join(place, `others-${token}`));
  for (const path of others) writeFileSync(path, "");

  let arrivals = 0;
  const count = (): void => {
    arrivals += 1;
  };
  const servers: Server[] = [];
  const listen = async (where: string | number): Promise<Server> => {
    const server = createServer((socket) => {
      count();
      socket.on("error", () => {});
      socket.end("hello\n");
    });
    server.listen(typeof where === "number" ? { port: where, host: "127.0.0.1" } : { path: where });
    await once(server, "listening");
    servers.push(server);
    return server;
  };
  const tcp = await listen(0);
  const path = join(out, "listener.sock");
  const inWorkspace = join(ws, "listener.sock");
  const abstract = `escape-${randomBytes(6).toString("hex")}`;
  await listen(path);
  await listen(inWorkspace);
  await listen(`\0${abstract}`);
  chmodSync(path, 0o777);
  chmodSync(inWorkspace, 0o777);
  const udp = createSocket("udp4").on("message", count);
  udp.bind(0, "127.0.0.1");
  await once(udp, "listening");
  const address = tcp.address();
  const values = {
    WS: ws,
    OUT: out,
    HOME: home,
    SOCK: path,
    WSSOCK: inWorkspace,
    ABS: abstract,
    PORT: String(typeof address === "object" && address ? address.port : 0),
    UPORT: String(udp.address().port),
    PID: String(process.pid),
    TOKEN: token,
    NAMESPACES: readdirSync("/proc/self/ns")
      .map((name) => readlinkSync(`/proc/self/ns/${name}`))
      .join(" "),
  };

  return {
    ws,
    out,
    home,
    secret,
    values,
    reached: () => arrivals,
    fingerprint: () => digest([out, home]),
    async run(mode, command) {
      const sandbox = createSandbox({
        mode,
        osSandbox: "on",
        workspace: { cwd: ws },
        stateDir: join(home, ".chimera"),
        home,
        env: { ...process.env, PATH: confinement.path, HOME: home, SERVER_TOKEN: secret },
        log: () => {},
      });
      const filled = command.replace(
        /\{([A-Z]+)\}/g,
        (whole, name: string) => values[name as keyof typeof values] ?? whole,
      );
      const confined = await sandbox.confine(`echo ${BEGUN}; ${filled}`, {
        env: { PATH: COMMAND_PATH },
      });
      const started = performance.now();
      const child = spawn(confined.file, confined.args, {
        ...confined.options,
        ...(actor === "self" ? {} : { uid: actor, gid: actor }),
      });
      let stdout = "";
      let stderr = "";
      child.stdout?.on("data", (chunk) => {
        stdout += chunk;
      });
      child.stderr?.on("data", (chunk) => {
        stderr += chunk;
      });
      const timer = setTimeout(() => child.kill("SIGKILL"), COMMAND_TIMEOUT_MS);
      const [code] = (await once(child, "close")) as [number | null];
      clearTimeout(timer);
      confined.release();
      return { stdout, stderr, code, ms: performance.now() - started };
    },
    async close() {
      for (const server of servers) server.close();
      udp.close();
      for (const path of [base, ...others]) rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Replaces the placeholders of a case, as `run` does for the command. */
export function fill(text: string, ground: Ground): string {
  return text.replace(/\{([A-Z]+)\}/g, (whole, name: string) => ground.values[name] ?? whole);
}

// --- internal ---

/** Dangerous files that root may own: a set-user-id shell, and a device. */
function layTraps(out: string): void {
  copyFileSync("/bin/sh", join(out, "shell-of-root"));
  chmodSync(join(out, "shell-of-root"), 0o4755);
  execFileSync("mknod", [join(out, "zero-device"), "c", "1", "5"]);
  chmodSync(join(out, "zero-device"), 0o666);
}

function giveAway(path: string, uid: number): void {
  chownSync(path, uid, uid);
  if (!lstatSync(path).isDirectory()) return;
  for (const name of readdirSync(path)) giveAway(join(path, name), uid);
}

function digest(roots: readonly string[]): string {
  const hash = createHash("sha256");
  const visit = (path: string): void => {
    const entry = lstatSync(path);
    hash.update(`${path} ${entry.mode} ${entry.uid} ${entry.gid} ${entry.isFile() ? entry.mtimeMs : ""}\n`);
    if (entry.isFile()) hash.update(readFileSync(path));
    if (entry.isDirectory()) for (const name of readdirSync(path).sort()) visit(join(path, name));
  };
  for (const root of roots) if (existsSync(root)) visit(root);
  return hash.digest("hex");
}
