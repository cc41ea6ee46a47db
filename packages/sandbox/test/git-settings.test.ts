/** @module-tag needs-git */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { classify } from "../src/classify.js";
import { QUIET_GIT } from "../src/git-settings.js";

/** A repository with one commit and one change, and a program next to it that leaves a mark when it runs. */
function repository() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "git-settings-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [cwd, mark, evil] = [join(base, "work"), join(base, "mark"), join(base, "evil")];
  writeFileSync(evil, `#!/bin/sh\ntouch ${mark}\ncat\n`);
  chmodSync(evil, 0o755);
  const env = { PATH: process.env["PATH"], HOME: base, GIT_CONFIG_NOSYSTEM: "1" };
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  };
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, env, stdio: "pipe" });
  const start = (directory: string) => {
    mkdirSync(join(cwd, directory), { recursive: true });
    git("init", "-q", directory);
    put(join(directory, "a.txt"), "one\n");
    git("-C", directory, "add", "a.txt");
    git("-C", directory, "commit", "-qm", "one");
  };
  start(".");
  const run = (command: string, more: object = {}) => {
    spawnSync("/bin/sh", ["-c", command], { cwd, env: { ...env, ...more }, stdio: "ignore", timeout: 10_000 });
    const ran = existsSync(mark);
    rmSync(mark, { force: true });
    return ran;
  };
  return {
    cwd,
    evil,
    put,
    git,
    start,
    run,
    judge: (command: string) => classify(command, { workspace: { cwd } }).decision,
  };
}

type Repository = ReturnType<typeof repository>;

const nested = ({ start, git, put }: Repository) => {
  start("sub");
  git("add", "sub");
  git("commit", "-qm", "sub");
  put("sub/a.txt", "two\n");
};

const TRAPS: readonly [name: string, command: string, set: (r: Repository) => void][] = [
  ["a file system monitor", "git status", ({ git, evil }) => git("config", "core.fsmonitor", evil)],
  [
    "a hook",
    "git status",
    ({ put, cwd, evil }) => {
      put(".git/hooks/post-index-change", `#!/bin/sh\nexec ${evil} </dev/null\n`);
      chmodSync(join(cwd, ".git/hooks/post-index-change"), 0o755);
      put("a.txt", "one\n");
    },
  ],
  [
    "hooks elsewhere",
    "git status",
    ({ git, put, cwd, evil }) => {
      put("hooks/post-index-change", `#!/bin/sh\nexec ${evil} </dev/null\n`);
      chmodSync(join(cwd, "hooks/post-index-change"), 0o755);
      git("config", "core.hooksPath", "hooks");
      put("a.txt", "one\n");
    },
  ],
  [
    "a content filter",
    "git status",
    ({ git, put, evil }) => {
      git("config", "filter.x.clean", evil);
      put(".gitattributes", "* filter=x\n");
    },
  ],
  [
    "a filter process",
    "git diff",
    ({ git, put, evil }) => {
      git("config", "filter.x.process", evil);
      put(".gitattributes", "* filter=x\n");
    },
  ],
  ["an external diff", "git diff", ({ git, evil }) => git("config", "diff.external", evil)],
  [
    "a diff driver",
    "git diff",
    ({ git, put, evil }) => {
      git("config", "diff.x.command", evil);
      put(".gitattributes", "* diff=x\n");
    },
  ],
  [
    "a text conversion",
    "git show HEAD",
    ({ git, put, evil }) => {
      git("config", "diff.x.textconv", evil);
      put(".git/info/attributes", "* diff=x\n");
    },
  ],
  [
    "settings that are included",
    "git status",
    ({ put, evil }) => {
      put("more", `[core]\n\tfsmonitor = ${evil}\n[diff]\n\texternal = ${evil}\n`);
      put(".git/config", "[include]\n\tpath = ../more\n");
    },
  ],
  [
    "settings of a worktree",
    "git diff",
    ({ git, put, evil }) => {
      git("config", "extensions.worktreeConfig", "true");
      put(".git/config.worktree", `[diff]\n\texternal = ${evil}\n`);
    },
  ],
  [
    "settings in one line",
    "git diff",
    ({ put, evil }) => put(".git/config", `[core]\n\tbare = false\n[diff] external = ${evil}\n`),
  ],
  [
    "settings elsewhere",
    "git diff",
    ({ put, git, evil }) => {
      git("clone", "-q", "--bare", ".", "other");
      put("other/config", `[diff]\n\texternal = ${evil}\n`);
      put(".git/commondir", "../other\n");
    },
  ],
  [
    "a signature",
    "git log --format=%G?",
    ({ git, cwd, evil }) => {
      git("config", "gpg.program", evil);
      const sealed = String(git("cat-file", "commit", "HEAD")).replace(
        "\n\n",
        "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n",
      );
      const id = execFileSync("git", ["hash-object", "-w", "-t", "commit", "--stdin"], { cwd, input: sealed });
      git("update-ref", "HEAD", String(id).trim());
    },
  ],
  [
    "a submodule's monitor",
    "git status",
    (r) => {
      nested(r);
      r.git("-C", "sub", "config", "core.fsmonitor", r.evil);
    },
  ],
  [
    "a submodule that is not ignored",
    "git status",
    (r) => {
      nested(r);
      r.put(".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n');
      r.git("-C", "sub", "config", "core.fsmonitor", r.evil);
    },
  ],
  [
    "a repository below",
    "git -C sub status",
    (r) => {
      r.start("sub");
      r.git("-C", "sub", "config", "diff.external", r.evil);
      r.git("-C", "sub", "config", "core.fsmonitor", r.evil);
    },
  ],
  [
    "a repository below, gone to",
    "cd sub && git diff",
    (r) => {
      r.start("sub");
      r.put("sub/a.txt", "two\n");
      r.git("-C", "sub", "config", "diff.external", r.evil);
    },
  ],
  [
    "a directory that poses as a repository",
    "cd sub && git status",
    ({ git, cwd, put, evil }) => {
      git("clone", "-q", "--bare", ".", "sub");
      copyFileSync(join(cwd, ".git/index"), join(cwd, "sub/index"));
      put(
        "sub/config",
        `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = ${evil}\n`,
      );
    },
  ],
  [
    "a pointer to one",
    "git diff",
    ({ git, put, cwd, evil }) => {
      execFileSync("mv", [".git", "hidden"], { cwd });
      put(".git", "gitdir: hidden\n");
      git("config", "diff.external", evil);
    },
  ],
  [
    "a link to one",
    "git diff",
    ({ git, cwd, evil }) => {
      git("config", "diff.external", evil);
      execFileSync("mv", [".git", "hidden"], { cwd });
      execFileSync("ln", ["-s", "hidden", ".git"], { cwd });
    },
  ],
];

test.each(TRAPS)("%s does not run when %s is judged harmless", (_, command, set) => {
  const place = repository();
  place.put("a.txt", "two\n");
  set(place);
  // The trap works when git runs without the variables.
  expect(place.run(command)).toBe(true);
  if (place.judge(command) === "allow") expect(place.run(command, QUIET_GIT)).toBe(false);
});

test("an ordinary repository is read without a question, and so is one below it", () => {
  const { start, git, put, judge, cwd } = repository();
  start("sub");
  git("config", "core.hooksPath", ".husky/_");
  git("remote", "add", "origin", "https://example.test/a.git");
  put(".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = https://example.test/b.git\n');
  for (const command of ["git status", "git -C sub status", "git -C sub -P log --oneline", "cd sub && git diff"])
    expect([command, judge(command)]).toEqual([command, "allow"]);
  for (const command of [
    "git -C .. status",
    "git -C /etc status",
    "git -C sub commit",
    "git -C",
    "git -C sub -c x=y log",
  ])
    expect([command, judge(command)]).toEqual([command, "ask"]);
  put(".git/config", "x".repeat(100_000));
  expect(judge("git status")).toBe("ask");
  expect(classify("git status", { workspace: { cwd: dirname(cwd) } }).decision).toBe("allow");
});

test("a here-document that is only printed counts as a read", () => {
  const judge = (command: string) => classify(command, { workspace: { cwd: tmpdir() } }).decision;
  for (const command of [
    "cat <<EOF\nhi\nEOF",
    "cat <<'EOF'\n$(touch x)\n`y`\nEOF\n",
    'cat <<"E" | wc -l\nhi\nE\nls',
    "cat <<EOF\nEOF",
  ])
    expect([command, judge(command)]).toEqual([command, "allow"]);
  for (const command of [
    "cat <<EOF\n$(touch x)\nEOF",
    "cat <<EOF\n\\\nEOF\ntouch x\nEOF",
    "cat <<'EOF'\nEOF\ntouch x\nEOF",
    "cat <<EOF | sh\nls\nEOF",
    "cat <<EOF > out\nhi\nEOF",
    "cat <<EOF & touch x\nhi\nEOF",
    "cat <<EOF\nhi\nEOF \ntouch x",
    "cat <<EOF\nhi",
    "cat '<<EOF\nhi\nEOF",
    "cat <<-EOF\n\thi\n\tEOF\ntouch x\nEOF",
    "cat # <<EOF\ntouch x\nEOF",
    "sh <<EOF\nls\nEOF",
    "cat <<EOF<<END\nhi\nEOF\ntouch x\nEND",
  ])
    expect([command, judge(command)]).not.toEqual([command, "allow"]);
});
