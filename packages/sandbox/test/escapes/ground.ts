import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createSandbox, type SandboxMode } from "../../src/index.js";

/** Who runs the commands; a number is an ordinary user that root turns into. */
export type Actor = "self" | number;

export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  readonly ms: number;
}

/** A place to attack: a workspace, things outside it that must not change, and listeners that must not be reached. */
export interface Ground {
  readonly ws: string;
  readonly out: string;
  readonly home: string;
  readonly secret: string;
  readonly values: Readonly<Record<string, string>>;
  /** Connections, datagrams and socket messages that arrived from inside. */
  reached(): number;
  /** Fingerprint of everything outside the workspace that a command could have changed. */
  fingerprint(): string;
  run(mode: SandboxMode, command: string): Promise<Outcome>;
  close(): Promise<void>;
}

const COMMAND_TIMEOUT_MS = 20_000;
const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/** A place that commands can see, so that an attempt on it fails for the right reason; without one only their own /tmp is left. */
function outsideBase(): string {
  const candidates = ["/srv", homedir(), process.cwd()].filter((path) => existsSync(path));
  return candidates.find((path) => isVisible(path) && isWritable(path)) ?? tmpdir();
}

/** False below the directories that every command has for itself. */
function isVisible(path: string): boolean {
  return !/^\/(tmp|var\/tmp|run)(\/|$)/.test(realpathSync(path));
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export async function layGround(actor: Actor): Promise<Ground> {
  const base = mkdtempSync(join(outsideBase(), "escape-"));
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
  writeFileSync(join(home, ".chimera/run/server.pid"), `{"token":"${secret}"}`);
  chmodSync(base, 0o755);
  if (actor !== "self") giveAway(base, actor);

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
        env: { ...process.env, PATH: `${dirname(process.execPath)}:${SYSTEM_PATH}`, HOME: home, SERVER_TOKEN: secret },
        log: () => {},
      });
      const filled = command.replace(
        /\{([A-Z]+)\}/g,
        (whole, name: string) => values[name as keyof typeof values] ?? whole,
      );
      const confined = await sandbox.confine(filled);
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
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** Fills in what a case names, as `run` does for the command. */
export function fill(text: string, ground: Ground): string {
  return text.replace(/\{([A-Z]+)\}/g, (whole, name: string) => ground.values[name] ?? whole);
}

/** Processes of the whole machine whose command line contains `text`. */
export function processesWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").startsWith(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

// --- internal ---

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
