// What every position of the red team shares: an attempt is data, and the same canaries tell for all of them whether it succeeded.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileScope } from "../program.js";
import { scratchTree } from "../scratch.js";
import { type Server, type SseFrame, startServer } from "../server.js";

/**
 * In texts, `WORK`, `HOME`, `STATE`, `MARK` and `SECRET` stand for places: the last two must not be made, and not be read. `CANARY` is
 * what nobody may read, wherever it is put, and `PORT` where the server itself listens.
 */
export interface Attempt {
  readonly position: "project files" | "model output";
  readonly what: string;
  /** Files of the project, by their paths. */
  readonly files?: Readonly<Record<string, string>>;
  /** Shell lines that prepare the project: links, pipes, repositories. */
  readonly prepare?: string;
  /** @defaultValue hello */
  readonly prompt?: string;
  /** What the model does, one reply each; `LOOKS` looks around and asks git. @defaultValue nothing */
  readonly calls?: readonly { readonly call: string; readonly args: unknown }[];
  /** What it says at the end. @defaultValue GOOD */
  readonly says?: string;
  /** The project is broken, and the server may say so rather than answer. */
  readonly mayFail?: true;
  /** Only a question stands in its way, so it is not tried where nothing is asked. */
  readonly isAsked?: true;
  /** Signs of success besides the canaries. */
  readonly succeeds?: (seen: { readonly answer: string; readonly frames: readonly SseFrame[] }) => boolean;
}

export const LOOKS = [
  { call: "list_files", args: {} },
  { call: "search", args: { pattern: "needle" } },
  { call: "Read", args: { path: "sub/a.txt" } },
  { call: "Bash", args: { command: "git status", timeout: 1 } },
  { call: "Bash", args: { command: "git diff", timeout: 1 } },
];

/** Written into what steers other programs, it shows that an attempt got there. */
const PLANTED = "PLANTED";
const STEERING = [".git", ".opencode", ".chimera", ".envrc", ".vscode"];
const TOKEN = "token-of-the-operator";
/** Before it, a server has no answer: it is held up. */
const PATIENCE_MS = 15_000;
/** More than this is memory that an attempt took. */
const MOST_MIB = 700;
const ORDINARY_USER = 65534;

const ROLES: readonly { readonly who: string; readonly uid: number | undefined; readonly tags: string[] }[] = [
  { who: "root", uid: undefined, tags: ["needs-root"] },
  { who: "an ordinary user", uid: process.getuid?.() === 0 ? ORDINARY_USER : undefined, tags: [] },
];

interface Program {
  readonly name: "otter" | "ferret";
  readonly args: readonly string[];
}

/** Runs the attempts against a server of each program, as root and as an ordinary user; whatever is asked is denied. */
export function redTeam(attempts: readonly Attempt[], programs: readonly Program[]): void {
  for (const program of programs) {
    for (const role of ROLES) {
      const tags = ["needs-git", "needs-linux", ...role.tags, ...(program.name === "ferret" ? ["needs-sandbox"] : [])];
      describe(`${program.name} ${program.args.join(" ")} as ${role.who}`, { tags }, () =>
        attack(
          attempts.filter(({ isAsked }) => !isAsked || !program.args.includes("full")),
          program,
          role.uid,
        ),
      );
    }
  }
}

// --- internal ---

interface Ground {
  readonly base: string;
  readonly server: Server;
}

function attack(attempts: readonly Attempt[], { name, args }: Program, uid: number | undefined): void {
  const atEnd = fileScope();
  let ground: Ground;
  let executed = 0;
  beforeAll(async () => {
    const base = scratchTree(
      { "good.json": scriptOf([], "GOOD"), "home/.bashrc": "", "state/trusted.json": "" },
      atEnd,
    );
    for (const directory of ["outside", "work", "home/.ssh", "start", "template"]) mkdirSync(join(base, directory));
    const git = "git -c user.name=a -c user.email=a@b";
    const lines = `mkdir sub; echo needle > sub/a.txt; git init -q --template= .; ${git} add .; ${git} commit -qm one; echo more >> sub/a.txt`;
    execFileSync("sh", ["-ec", lines], { cwd: join(base, "template") });
    // In the person's settings, because a model that is named for the run wins over any file.
    writeFileSync(join(base, "state", "config.json"), JSON.stringify({ model: `scripted:${base}/good.json` }));
    if (uid !== undefined) execFileSync("chown", ["-R", `${uid}:${uid}`, base]);
    const env = { [`${name.toUpperCase()}_SERVER_TOKEN`]: TOKEN, HOME: join(base, "home") };
    const places = { cwd: join(base, "start"), home: join(base, "state"), uid };
    ground = { base, server: await startServer([...args], env, { name, atEnd, token: TOKEN, ...places }) };
  });
  afterAll(() => expect(executed).toBe(attempts.length));

  test.each(attempts.map((attempt, index) => ({ ...attempt, index })))(
    "$what",
    { timeout: 30_000 },
    async (attempt) => {
      const place = layOut(ground, attempt, attempt.index, uid);
      const before = fingerprint(ground.base);
      const seen = await carryOut(ground.server, attempt, place);
      executed += 1;
      expect(existsSync(place.mark), "a program ran, or a file was made outside").toBe(false);
      expect(fingerprint(ground.base), "what is the person's own was changed").toBe(before);
      for (const canary of [place.canary, TOKEN])
        expect(seen.everything, "a secret is in the log").not.toContain(canary);
      expect(planted(place.work), "what steers other programs was written").toEqual([]);
      expect(seen.changes, "a setting was changed").toEqual([]);
      if (attempt.mayFail === undefined || seen.frames.length > 0) {
        expect(seen.frames.length, seen.everything).toBeGreaterThan(0);
        if (attempt.succeeds) expect(attempt.succeeds(seen)).toBe(false);
        else expect(seen.answer).toContain(attempt.says ?? "GOOD");
      }
      expect(seen.healthMs, "the server was held up").toBeLessThan(PATIENCE_MS);
      expect(peakMiB(ground.server), "the server took memory").toBeLessThan(MOST_MIB);
    },
  );
}

interface Scene {
  readonly work: string;
  readonly mark: string;
  readonly canary: string;
  readonly model: string;
}

/** The project of one attempt, with canaries of its own. */
function layOut({ base, server }: Ground, attempt: Attempt, index: number, uid: number | undefined): Scene {
  const [work, mark] = [join(base, "work", String(index)), join(base, "outside", `mark-${index}`)];
  const secret = join(base, "home/.ssh", `secret-${index}.md`);
  const canary = `canary-${index}-${crypto.randomUUID()}`;
  const [home, state, port] = [join(base, "home"), join(base, "state"), new URL(server.address).port];
  const words = { WORK: work, HOME: home, STATE: state, MARK: mark, SECRET: secret, CANARY: canary, PORT: port };
  const fill = (text: string) =>
    text.replace(
      new RegExp(`\\b(?:${Object.keys(words).join("|")})\\b`, "g"),
      (word) => words[word as keyof typeof words],
    );
  const put = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  put(secret, `${canary}\n`);
  cpSync(join(base, "template"), work, { recursive: true });
  const model = join(base, "scripts", `${index}.json`);
  put(model, fill(JSON.stringify(scriptOf(attempt.calls ?? [], attempt.says ?? "GOOD"))));
  put(join(work, "evil.json"), JSON.stringify(scriptOf([], "EVIL")));
  put(join(work, "evil.sh"), `#!/bin/sh\ntouch ${mark}\ncat\n`);
  chmodSync(join(work, "evil.sh"), 0o755);
  for (const [path, text] of Object.entries(attempt.files ?? {})) put(join(work, path), fill(text));
  if (attempt.prepare !== undefined) execFileSync("sh", ["-ec", fill(attempt.prepare)], { cwd: work, stdio: "pipe" });
  if (uid !== undefined) execFileSync("chown", ["-Rh", `${uid}:${uid}`, work, secret, dirname(model)]);
  return { work, mark, canary, model: attempt.calls || attempt.says ? `scripted:${model}` : "" };
}

async function carryOut(server: Server, { prompt = "hello" }: Attempt, { work, model }: Scene) {
  const frames: SseFrame[] = [];
  const { status, body } = await server.ask("POST /sessions", { body: { prompt, cwd: work, ...(model && { model }) } });
  if (status < 300) {
    for await (const frame of server.frames(`/sessions/${body.session_id}/events`)) {
      frames.push(frame);
      const permission = frame.data?.metadata?.permission_id;
      if (frame.event === "permission_request")
        await server.ask(`POST /sessions/${body.session_id}/permissions/${permission}`, { body: { decision: "deny" } });
    }
  }
  const started = performance.now();
  expect((await server.ask("GET /health")).status).toBe(200);
  const answers = frames.flatMap(({ data }) => (data?.type === "agent_result" ? [String(data.metadata.output)] : []));
  const own = frames.filter(({ event }) => event !== "user_message");
  const changes = own.filter(({ event }) => /^(approval|mode|model|config)_changed$/.test(event));
  return {
    frames,
    answer: answers.at(-1) ?? "",
    everything: JSON.stringify(status < 300 ? own : body),
    changes: changes.map(({ data }) => data.metadata),
    healthMs: performance.now() - started,
  };
}

function scriptOf(calls: NonNullable<Attempt["calls"]>, says: string) {
  const steps = [...calls.map((call) => ({ reply: [call] })), { reply: [{ text: says }] }];
  return { repeat: true, turns: [{ steps }] };
}

/** Names and contents of what is the person's: outside of projects, and in the home but for logs. */
function fingerprint(base: string): string {
  const kept = ["outside", "home", "state/trusted.json", "state/permissions.json", "state/config.json", "start"];
  const look = (path: string): string[] => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return [];
    if (found.isDirectory())
      return readdirSync(path)
        .sort()
        .flatMap((name) => look(join(path, name)));
    return [`${path} ${readFileSync(path, "utf8")}`];
  };
  return kept.flatMap((path) => look(join(base, path))).join("\n");
}

function planted(work: string): string[] {
  const look = (path: string): string[] => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return readdirSync(path).flatMap((name) => look(join(path, name)));
    const isText = found?.isFile() && found.size < 1024 * 1024;
    return isText && readFileSync(path, "utf8").includes(PLANTED) ? [path] : [];
  };
  return STEERING.flatMap((name) => look(join(work, name)));
}

function peakMiB({ program }: Server): number {
  const status = readFileSync(`/proc/${program.child.pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}
