import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Confined, createSandbox, isSandboxError, type SandboxOptions } from "../src/index.js";

const withGit = { tags: ["needs-git"] };
let base: string;
let ws: string;
let messages: string[];

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "sandbox-")));
  ws = join(base, "ws");
  mkdirSync(ws);
  messages = [];
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function sandbox(more: Partial<SandboxOptions> = {}) {
  return createSandbox({
    mode: "workspace-write",
    osSandbox: "auto",
    workspace: { cwd: ws },
    stateDir: join(base, "state"),
    env: process.env,
    log: (message) => messages.push(message),
    ...more,
  });
}

async function run(confined: Confined): Promise<string> {
  const child = spawn(confined.file, confined.args, confined.options);
  let text = "";
  child.stdout?.on("data", (chunk) => {
    text += chunk;
  });
  await once(child, "close");
  confined.release();
  return text;
}

/** What a directory holds once the placeholders have had their time. */
async function expectLeft(directory: string, names: readonly string[]): Promise<void> {
  await expect.poll(() => readdirSync(directory).sort(), { timeout: 5000 }).toEqual(names);
}

async function refusal(action: () => unknown): Promise<{ code: string; hint: string; message: string }> {
  try {
    await action();
  } catch (error) {
    if (isSandboxError(error)) return error;
    throw error;
  }
  throw new Error("not refused");
}

describe("without a program that confines", () => {
  test.each(["read-only", "workspace-write", "workspace-write-network"] as const)(
    "%s refuses with a hint",
    async (mode) => {
      for (const osSandbox of ["auto", "on"] as const) {
        const error = await refusal(() => sandbox({ mode, osSandbox, env: { PATH: base } }).confine("true"));
        expect(error.code).toBe("sandbox_unavailable");
        expect(error.hint).toContain("install bubblewrap");
      }
    },
  );

  test("a bwrap that cannot start counts as none, and says why", async () => {
    const bin = join(base, "bin");
    mkdirSync(bin);
    writeFileSync(
      join(bin, "bwrap"),
      '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.9.0 && exit\necho no namespaces here >&2; exit 1\n',
    );
    chmodSync(join(bin, "bwrap"), 0o755);
    const error = await refusal(() => sandbox({ env: { PATH: bin } }).confine("true"));
    expect(error.message).toContain("no namespaces here");
  });

  test("a bwrap planted in the workspace or on a relative path is not used", async () => {
    writeFileSync(join(ws, "bwrap"), "#!/bin/sh\nexit 0\n");
    chmodSync(join(ws, "bwrap"), 0o755);
    const error = await refusal(() => sandbox({ env: { PATH: `${ws}:.:bin` } }).confine("true"));
    expect(error.message).toContain("no bwrap");
  });

  test("off runs as asked, and so does an explicit osSandbox off, which is announced once", async () => {
    const off = await sandbox({ mode: "off", env: { PATH: base } }).confine("echo ran");
    expect(off.confined).toBe(false);
    expect(await run(off)).toBe("ran\n");
    const loose = sandbox({ mode: "read-only", osSandbox: "off" });
    expect(await run(await loose.confine("echo ran"))).toBe("ran\n");
    await loose.confine("echo again");
    expect(messages).toHaveLength(1);
  });
});

describe("workspace", () => {
  test.each([
    ["missing", () => join(base, "nowhere")],
    ["the whole file system", () => "/"],
  ])("%s is refused", async (_name, cwd) => {
    expect((await refusal(() => sandbox({ workspace: { cwd: cwd() } }))).code).toBe("invalid_workspace");
  });

  test("a command directory outside is refused, also through a link", async () => {
    symlinkSync(base, join(ws, "up"));
    for (const cwd of [base, join(ws, "up"), join(ws, "..")]) {
      expect((await refusal(() => sandbox().confine("true", { cwd }))).code).toBe("outside_workspace");
    }
  });

  test("a root that became a link is refused", async () => {
    const extra = join(ws, "extra");
    mkdirSync(extra);
    const box = sandbox({ workspace: { cwd: ws, directories: [extra] } });
    rmSync(extra, { recursive: true });
    symlinkSync("/etc", extra);
    expect((await refusal(() => box.confine("true"))).code).toBe("invalid_workspace");
  });
});

describe("confined", { tags: ["needs-sandbox"] }, () => {
  test("protected paths that are links are refused where they cannot be sealed", async () => {
    symlinkSync(base, join(ws, ".codex"));
    const error = await refusal(() => sandbox().confine("true"));
    expect(error.code).toBe("protected_symlink");
    expect(await run(await sandbox({ mode: "read-only" }).confine("echo read"))).toBe("read\n");
  });

  test("hooks behind a link make the git directory read-only", async () => {
    mkdirSync(join(ws, ".git"));
    mkdirSync(join(ws, "hooks"));
    symlinkSync("../hooks", join(ws, ".git/hooks"));
    await run(await sandbox().confine("echo x > hooks/pre-commit; rm .git/hooks; echo x > .git/index"));
    await expectLeft(join(ws, "hooks"), []);
    await expectLeft(join(ws, ".git"), ["hooks"]);
  });

  test("directories added to the workspace are writable, their protected paths are not", async () => {
    const extra = join(base, "extra");
    mkdirSync(extra);
    const box = sandbox({ workspace: { cwd: ws, directories: [extra] }, protectedPaths: ["locked/file"] });
    await run(
      await box.confine(
        `echo x > ${extra}/a; mkdir -p ${extra}/locked; echo x > ${extra}/locked/file; echo x > locked`,
      ),
    );
    await expectLeft(extra, ["a"]);
    await expectLeft(ws, []);
  });

  test("an empty directory of the workspace inside another one is writable", async () => {
    const inner = join(ws, "inner");
    mkdirSync(inner);
    await run(await sandbox({ workspace: { cwd: ws, directories: [inner] } }).confine("echo x > inner/a"));
    await expectLeft(inner, ["a"]);
  });

  test("nothing is left behind, with commands side by side", async () => {
    const box = sandbox();
    await Promise.all([1, 2, 3, 4].map(async () => run(await box.confine("sleep 0.1"))));
    await expectLeft(ws, []);
    const started = await box.confine("true");
    started.release();
    started.release();
    await expectLeft(ws, []);
  });

  test("what somebody puts at a protected place between two commands is seen by the second, and stays", async () => {
    const box = sandbox();
    await run(await box.confine("true"));
    writeFileSync(join(ws, ".codex/config.toml"), "theirs\n");
    expect(await run(await box.confine("cat .codex/config.toml; echo x > .codex/new"))).toBe("theirs\n");
    await expectLeft(ws, [".codex"]);
    expect(readdirSync(join(ws, ".codex"))).toEqual(["config.toml"]);
  });

  test("a placeholder that another process uses too is not removed from under its command", async () => {
    const first = await sandbox().confine("true");
    // As another process does that finds the directory empty and covers it.
    chmodSync(join(ws, ".codex"), 0o755);
    first.release();
    await expectLeft(ws, [".codex"]);
  });

  test(
    "git works while its redirection is prevented, inside and outside, and nothing of it stays",
    withGit,
    async () => {
      const git = (...args: string[]) => execFileSync("git", args, { cwd: ws, encoding: "utf8" });
      git("init", "-q");
      const confined = await sandbox().confine(
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; echo ../x > .git/commondir; git log --format=%s",
      );
      expect(git("rev-parse", "--git-common-dir", "--is-inside-work-tree").trim()).toMatch(/\.git\ntrue$/);
      expect(await run(confined)).toBe("one\n");
      await expect.poll(() => existsSync(join(ws, ".git/commondir")), { timeout: 5000 }).toBe(false);
      expect(readdirSync(join(ws, ".git")).filter((name) => name.startsWith("commondir"))).toEqual([]);
    },
  );

  test("an empty directory at a protected place is covered, and stays", async () => {
    mkdirSync(join(ws, ".opencode"));
    await run(await sandbox().confine("echo x > .opencode/mcp.json; chmod 755 .opencode; echo x > .opencode/mcp.json"));
    await expectLeft(ws, [".opencode"]);
    expect(readdirSync(join(ws, ".opencode"))).toEqual([]);
  });

  test("a workspace that cannot hold the protection is refused, without leaving anything", async () => {
    const error = await refusal(() => sandbox({ protectedPaths: ["x".repeat(300)] }).confine("true"));
    expect(error.code).toBe("invalid_workspace");
    await expectLeft(ws, []);
  });

  test("the home directory as workspace keeps start-up files and keys safe", async () => {
    writeFileSync(join(ws, ".bashrc"), "old\n");
    await run(
      await sandbox({ home: ws }).confine(
        "echo x >> .bashrc; mkdir -p .ssh; echo k > .ssh/authorized_keys; echo ok > mine",
      ),
    );
    await expectLeft(ws, [".bashrc", "mine"]);
  });

  test(
    "git and npm work with the home directory as workspace, whose settings are missing and stay so",
    withGit,
    async () => {
      const box = sandbox({ home: ws, env: { ...process.env, HOME: ws } });
      const command =
        "git init -q sub && git -C sub status --short && test ! -s .npmrc && echo fine; echo x > .gitconfig";
      expect(await run(await box.confine(command))).toBe("fine\n");
      await expectLeft(ws, ["sub"]);
    },
  );

  test("only listed variables are inherited; given ones pass", async () => {
    const box = sandbox({
      env: { ...process.env, API_TOKEN: "hidden", LC_ALL: "C", BASH_ENV: "/x", LD_PRELOAD: "/x" },
    });
    const text = await run(await box.confine("env", { env: { GIVEN: "yes" } }));
    expect(text).toContain("GIVEN=yes");
    expect(text).toContain("LC_ALL=C");
    expect(text).not.toMatch(/API_TOKEN|BASH_ENV|LD_PRELOAD/);
  });

  test("ending the spawned process ends everything inside", async () => {
    const confined = await sandbox().confine("echo up; trap '' TERM; sleep 84.2 & sleep 84.2");
    const child = spawn(confined.file, confined.args, confined.options);
    await once(child.stdout!, "data");
    child.kill("SIGKILL");
    await once(child, "close");
    confined.release();
  });

  test("odd names survive: spaces, quotes, newlines", async () => {
    const odd = join(ws, "a b'\"\n$x");
    mkdirSync(odd);
    expect(await run(await sandbox({ workspace: { cwd: odd } }).confine("echo fine > f; cat f"))).toBe("fine\n");
  });
});
