import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as anyTest, describe, expect } from "vitest";
import { createSandbox, type Sandbox, type SandboxOptions } from "../src/index.js";
import { COMMAND_PATH, confinements } from "./confinements.js";
import { processesWith, refusal, run } from "./run.js";

interface Surroundings {
  readonly base: string;
  /** The workspace, a directory in `base`. */
  readonly ws: string;
  sandbox(more?: Partial<SandboxOptions>): Sandbox;
}

/** Tests with their own directories, confined by the programs on `path`. */
function place(path: string) {
  return anyTest.extend<Surroundings>({
    // biome-ignore lint/correctness/noEmptyPattern: what vitest asks of a fixture without needs.
    base: async ({}, use) => {
      const base = realpathSync(mkdtempSync(join(tmpdir(), "sandbox-")));
      await use(base);
      rmSync(base, { recursive: true, force: true });
    },
    ws: async ({ base }, use) => {
      const ws = join(base, "ws");
      mkdirSync(ws);
      await use(ws);
    },
    sandbox: async ({ base, ws }, use) => {
      await use((more = {}) => {
        const box = createSandbox({
          mode: "workspace-write",
          osSandbox: "auto",
          workspace: { cwd: ws },
          stateDir: join(base, "state"),
          log: () => {},
          ...more,
          env: { ...(more.env ?? process.env), PATH: path },
        });
        const confine: Sandbox["confine"] = (command, how) =>
          box.confine(command, { ...how, env: { PATH: COMMAND_PATH, ...how?.env } });
        return { ...box, confine };
      });
    },
  });
}

/** The names in a directory after the placeholders were removed. */
async function expectLeft(directory: string, names: readonly string[]): Promise<void> {
  await expect.poll(() => readdirSync(directory).sort(), { timeout: 20_000 }).toEqual(names);
}

for (const { name, path, tags } of confinements) {
  const test = place(path);
  // Concurrent, because each test has to wait a second until its placeholders are removed.
  describe.concurrent(`confined by ${name}`, { tags }, () => {
    test("a program sees its own state, secret or not, and no other program's", async ({ base, sandbox }) => {
      const [own, other, state] = [".codex", ".gemini", ".codex/host"].map((name) => join(base, name));
      for (const place of [own!, other!, state!]) {
        mkdirSync(place);
        writeFileSync(join(place, "key"), "a key");
      }
      const command = `cat ${own}/key; cat ${other}/key; cat ${state}/key; mkdir -p ${own}/.git && echo x > ${own}/.git/config && echo written`;
      // The workspace is the home directory itself, in which these names are protected too.
      const workspace = { cwd: base, own: own! };
      const confined = await sandbox({ home: base, stateDir: state!, workspace }).confine(command);
      expect(await run(confined)).toBe("a keywritten\n");
      const plain = await sandbox({ home: base, stateDir: state!, workspace: { cwd: base } }).confine(command);
      expect(await run(plain)).toBe("");
    });

    test("protected paths that are links are refused if they cannot be protected", async ({ base, ws, sandbox }) => {
      symlinkSync(base, join(ws, ".codex"));
      const error = await refusal(() => sandbox().confine("true"));
      expect(error.code).toBe("protected_symlink");
      expect(await run(await sandbox({ mode: "read-only" }).confine("echo read"))).toBe("read\n");
    });

    test("hooks behind a link make the git directory read-only", async ({ ws, sandbox }) => {
      mkdirSync(join(ws, ".git"));
      mkdirSync(join(ws, "hooks"));
      symlinkSync("../hooks", join(ws, ".git/hooks"));
      await run(await sandbox().confine("echo x > hooks/pre-commit; rm .git/hooks; echo x > .git/index"));
      await expectLeft(join(ws, "hooks"), []);
      await expectLeft(join(ws, ".git"), ["hooks"]);
    });

    test("directories added to the workspace are writable, their protected paths are not", async ({
      base,
      ws,
      sandbox,
    }) => {
      const extra = join(base, "extra");
      mkdirSync(extra);
      const box = sandbox({ workspace: { cwd: ws, directories: [extra] } });
      await run(
        await box.confine(
          `echo x > ${extra}/a; mkdir -p ${extra}/.git; echo x > ${extra}/.git/config; echo x > .codex`,
        ),
      );
      await expectLeft(extra, ["a"]);
      await expectLeft(ws, []);
    });

    test("an empty directory of the workspace inside another one is writable", async ({ ws, sandbox }) => {
      const inner = join(ws, "inner");
      mkdirSync(inner);
      await run(await sandbox({ workspace: { cwd: ws, directories: [inner] } }).confine("echo x > inner/a"));
      await expectLeft(inner, ["a"]);
    });

    test("concurrent commands leave nothing behind", async ({ ws, sandbox }) => {
      const box = sandbox();
      await Promise.all([1, 2, 3, 4].map(async () => run(await box.confine("sleep 0.1"))));
      await expectLeft(ws, []);
      const started = await box.confine("true");
      started.release();
      started.release();
      await expectLeft(ws, []);
    });

    test("a file put at a protected place between two commands is visible to the second one, and stays", async ({
      ws,
      sandbox,
    }) => {
      const box = sandbox();
      await run(await box.confine("true"));
      writeFileSync(join(ws, ".codex/config.toml"), "theirs\n");
      expect(await run(await box.confine("cat .codex/config.toml; echo x > .codex/new"))).toBe("theirs\n");
      await expectLeft(ws, [".codex"]);
      expect(readdirSync(join(ws, ".codex"))).toEqual(["config.toml"]);
    });

    test("a placeholder that another process also uses is not removed under its command", async ({ ws, sandbox }) => {
      const first = await sandbox().confine("true");
      // Another process does this when it finds the directory empty and covers it.
      chmodSync(join(ws, ".codex"), 0o755);
      first.release();
      await expectLeft(ws, [".codex"]);
    });

    test("git works inside and outside while its redirection is prevented, and no placeholder stays", async ({
      ws,
      sandbox,
    }) => {
      const git = (...args: string[]) => execFileSync("git", args, { cwd: ws, encoding: "utf8" });
      git("init", "-q");
      const confined = await sandbox().confine(
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; echo ../x > .git/commondir; git log --format=%s",
      );
      expect(git("rev-parse", "--git-common-dir", "--is-inside-work-tree").trim()).toMatch(/\.git\ntrue$/);
      expect(await run(confined)).toBe("one\n");
      await expect.poll(() => existsSync(join(ws, ".git/commondir")), { timeout: 5000 }).toBe(false);
      expect(readdirSync(join(ws, ".git")).filter((name) => name.startsWith("commondir"))).toEqual([]);
    });

    test("an empty directory at a protected place is covered, and stays", async ({ ws, sandbox }) => {
      mkdirSync(join(ws, ".opencode"));
      await run(
        await sandbox().confine("echo x > .opencode/mcp.json; chmod 755 .opencode; echo x > .opencode/mcp.json"),
      );
      await expectLeft(ws, [".opencode"]);
      expect(readdirSync(join(ws, ".opencode"))).toEqual([]);
    });

    test("a workspace that cannot be protected is refused, and nothing is left in it", async ({ ws, sandbox }) => {
      const error = await refusal(() => sandbox({ secrets: [join(ws, "x".repeat(300))] }).confine("true"));
      expect(error.code).toBe("invalid_workspace");
      await expectLeft(ws, []);
    });

    test("the home directory as workspace keeps start-up files and keys safe", async ({ ws, sandbox }) => {
      writeFileSync(join(ws, ".bashrc"), "old\n");
      await run(
        await sandbox({ home: ws }).confine(
          "echo x >> .bashrc; mkdir -p .ssh; echo k > .ssh/authorized_keys; echo ok > mine",
        ),
      );
      await expectLeft(ws, [".bashrc", "mine"]);
    });

    test("git and npm work with the home directory as workspace, and its missing settings stay missing", async ({
      ws,
      sandbox,
    }) => {
      const box = sandbox({ home: ws, env: { ...process.env, HOME: ws } });
      const command =
        "git init -q sub && git -C sub status --short && test ! -s .npmrc && echo fine; echo x > .gitconfig";
      expect(await run(await box.confine(command))).toBe("fine\n");
      await expectLeft(ws, ["sub"]);
    });

    test("only listed variables are inherited; given ones are passed on", async ({ sandbox }) => {
      const box = sandbox({
        env: { ...process.env, API_TOKEN: "hidden", LC_ALL: "C", BASH_ENV: "/x", LD_PRELOAD: "/x" },
      });
      const text = await run(await box.confine("env", { env: { GIVEN: "yes" } }));
      expect(text).toContain("GIVEN=yes");
      expect(text).toContain("LC_ALL=C");
      expect(text).not.toMatch(/API_TOKEN|BASH_ENV|LD_PRELOAD/);
    });

    test("ending the spawned process ends everything inside", async ({ sandbox }) => {
      const confined = await sandbox().confine("echo up; trap '' TERM; sleep 84.2 & sleep 84.2");
      const child = spawn(confined.file, confined.args, confined.options);
      await once(child.stdout!, "data");
      child.kill("SIGKILL");
      await once(child, "close");
      confined.release();
    });

    test("it ends with the process that spawned it, in whatever way that ends", async ({ sandbox }) => {
      const { file, args, options, release } = await sandbox().confine("echo up; setsid sleep 84.3 & sleep 84.3");
      const program = `const { file, args, options } = JSON.parse(process.argv[1]);
        options.stdio = ["ignore", "inherit", "ignore", 3];
        require("node:child_process").spawn(file, args, options);`;
      const stdio = ["ignore", "pipe", "inherit", options.stdio[3]!] as const;
      const parent = spawn(process.execPath, ["-e", program, JSON.stringify({ file, args, options })], {
        stdio: [...stdio],
      });
      await once(parent.stdout!, "data");
      parent.kill("SIGKILL");
      await expect.poll(() => processesWith("sleep 84.3"), { timeout: 5000 }).toEqual([]);
      release();
    });

    test("a command's end is reported correctly: its exit code, its own signal, or a signal from outside", async ({
      sandbox,
    }) => {
      const box = sandbox();
      const ends = async (command: string, signal?: NodeJS.Signals) => {
        const confined = await box.confine(`echo up; ${command}`);
        const child = spawn(confined.file, confined.args, confined.options);
        await once(child.stdout!, "data");
        if (signal) process.kill(-child.pid!, signal);
        const [code, by] = await once(child, "close");
        confined.release();
        return code ?? by;
      };
      expect(await ends("exit 7")).toBe(7);
      expect(await ends("kill -SEGV $$")).toBe(139);
      expect(await ends("sleep 84.4", "SIGKILL")).toBe("SIGKILL");
      expect(await ends("sleep 84.5", "SIGTERM")).not.toBe(0);
      expect(processesWith("sleep 84.")).toEqual([]);
    });

    test("the caller's input reaches the command", async ({ sandbox }) => {
      const confined = await sandbox().confine("read a; read b; echo $b $a");
      const [, ...others] = confined.options.stdio;
      const child = spawn(confined.file, confined.args, { ...confined.options, stdio: ["pipe", ...others] });
      child.stdin!.end("one\ntwo\n");
      const [text] = await once(child.stdout!, "data");
      expect(String(text)).toBe("two one\n");
      await once(child, "close");
      confined.release();
    });

    test("of a hidden directory only a workspace in it is visible", async ({ base, ws, sandbox }) => {
      writeFileSync(join(base, "token"), "secret");
      const box = sandbox({ stateDir: base });
      const command = `ls -A ${base}; cat ${base}/token; echo x > ${base}/planted; echo fine > ${ws}/made; cat made`;
      expect(await run(await box.confine(command))).toBe("ws\nfine\n");
      expect(readdirSync(base).sort()).toEqual(["token", "ws"]);
    });

    // bubblewrap takes only paths, and follows whatever they have become.
    if (name === "util-linux") {
      test("a workspace that has become a link at the start of the command is not followed", async ({
        base,
        ws,
        sandbox,
      }) => {
        const outside = join(base, "outside");
        for (const target of [outside, "outside", "/"]) {
          const confined = await sandbox().confine("echo x > here; echo begun");
          mkdirSync(outside);
          renameSync(ws, `${ws}.old`);
          symlinkSync(target, ws);
          expect(await run(confined)).toBe("");
          expect(readdirSync(outside)).toEqual([]);
          for (const path of [ws, outside]) rmSync(path, { recursive: true });
          renameSync(`${ws}.old`, ws);
        }
      });
    }

    test("odd names work: spaces, quotes, newlines", async ({ ws, sandbox }) => {
      const odd = join(ws, "a b'\"\n$x");
      mkdirSync(odd);
      expect(await run(await sandbox({ workspace: { cwd: odd } }).confine("echo fine > f; cat f"))).toBe("fine\n");
    });
  });
}
