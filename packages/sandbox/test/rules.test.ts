// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, not a template

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type CommandRules, classify, matchRule } from "../src/classify.js";

const RULES: CommandRules = {
  allow: ["git status*", "ls *", "npm test*"],
  ask: ["npm test --update*"],
  deny: ["git push*", "git checkout -- *", "curl *"],
};
const judge = (command: string): string =>
  classify(command, { workspace: { cwd: "/srv/project" }, rules: RULES }).decision;

describe("matchRule", () => {
  test.each([
    ["git status*", ["git", "status"], true],
    ["git status*", ["git", "status", "-s"], true],
    ["git status*", ["git", "statusx"], false],
    ["git status*", ["git", "status -s"], false],
    ["ls *", ["ls"], true],
    ["ls *", ["ls", "-la", "src"], true],
    ["ls *", ["lsof"], false],
    ["npm run *:unit", ["npm", "run", "test:unit"], true],
    ["npm run *:unit", ["npm", "run", "test:unit:x"], false],
    ["git", ["git", "push"], false],
    ["*", ["anything", "at all"], true],
    ["", ["ls"], false],
    ["git  status *", ["git", "status", "-s"], true],
    ["a*a*a*a*a*a*a*b", ["a".repeat(5000)], false],
  ])("%j against %j is %j", (pattern, argv, expected) => {
    expect(matchRule(pattern, argv)).toBe(expected);
  });
});

test.each([
  "git push",
  "git  push origin",
  "/usr/bin/git push",
  "git -C x push",
  "git --no-pager -c a=b push",
  "git --git-dir=x push",
  "CI=1 git push",
  "env A=1 git push",
  "sudo git push",
  "command git push",
  "timeout 5 git push",
  "nice -n 5 git push",
  "xargs git push < x",
  "ls | xargs -I{} git push {}",
  "find . -exec git push \\;",
  "bash -c 'git push'",
  "bash -lc 'cd x && git push'",
  "eval git push",
  "trap 'git push' EXIT",
  "ssh host git push",
  "echo 'git push' | sh",
  "bash <<EOF\ngit push\nEOF",
  "bash <<< 'git push'",
  "g=git; $g push",
  "a='git push'; $a",
  'set -- git push; "$@"',
  "g\\it push",
  "'git' \"push\"",
  "$'\\x67it' push",
  "{git,push}",
  "git p{us,}h",
  "git \\\n push",
  "ls && git push",
  "ls & git push",
  "true;curl http://x",
  "echo x | curl -d @- http://x",
  "echo $(git push)",
  "echo `git push`",
  'echo "${x:-$(git push)}"',
  "cat <(git push)",
  "cat <<A\n$(git push)\nA",
  "[[ -n $(git push) ]]",
  "a=$(git push)",
  "if true; then git push; fi",
  "f() { git push; }; f",
  "git -c alias.p='!git push' p",
  "git -c alias.p=push p",
  "env -S 'git push'",
  "env --split-string='git push'",
  "npm exec -- git push",
  "npx -c 'git push'",
  "tmux new 'git push'",
  "printf '%s' 'git push' | sh",
  "flock f -c 'git push'",
  "git submodule foreach git push",
  "git submodule foreach --recursive 'git push'",
  "git bisect run git push",
  "git rebase -x 'git push' main",
  "git rebase --exec='git push' main",
  "cat <<A | sh\ngit push\nA",
  "${GIT:-git} push",
  "g?t push",
  "g[[:lower:]]t push",
  "git p[u]sh",
  "git checkout -- .",
  "git checkout --",
  "git checkout -q -- a",
  "curl",
])("a deny rule is not evaded by %j", (command) => {
  expect(judge(command)).toBe("deny");
});

test.each([
  "git status",
  "git status -s",
  "npm test",
  "npm test -- --watch",
  "npm test | head -5",
  "git status && date",
  "ls -la /etc",
])("%j is allowed by a rule or as a read", (command) => {
  expect(judge(command)).toBe("allow");
});

test.each([
  "git statusx",
  "npm testx",
  "npm test > out",
  "npm test; rm x",
  "npm test $(touch x)",
  "npm test && ./x",
  "A=1 npm test",
  "npm test &",
  "./npm test",
  "ls -la && date --set=x",
  "npm test --update snapshots",
  "ls $X",
])("%j asks although a part matches an allow rule", (command) => {
  expect(judge(command)).toBe("ask");
});

test.each([
  ["git diff", "allow"],
  ["git diff && ls", "allow"],
  ["npm test && ls", "allow"],
  ["git status && npm test", "allow"],
  ["git diff && npm test", "ask"],
  ['npm test; g"i"t log', "ask"],
  ["npm test && timeout 5 git log", "ask"],
])("git reads without a question only next to commands that need no rule: %s", (command, expected) => {
  const cwd = mkdtempSync(join(tmpdir(), "rules-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  expect(classify(command, { workspace: { cwd }, rules: RULES }).decision).toBe(expected);
});
