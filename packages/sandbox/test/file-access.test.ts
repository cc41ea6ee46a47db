import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type FileUse, fileAccess, type SandboxMode } from "../src/index.js";

function place() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "access-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  for (const name of ["ws", "more", "home", "state/outputs"]) mkdirSync(join(base, name), { recursive: true });
  const asks = (mode: SandboxMode) => {
    const refusal = fileAccess({
      mode,
      workspace: { cwd: join(base, "ws"), directories: [join(base, "more")] },
      stateDir: join(base, "state"),
      home: join(base, "home"),
      readable: [join(base, "state/outputs")],
    });
    return (path: string, use: FileUse) => refusal(join(base, path), use) === null;
  };
  return asks;
}

const TABLE: readonly [string, FileUse, SandboxMode[]][] = [
  ["ws/a.txt", "read", ["read-only", "workspace-write", "workspace-write-network", "off"]],
  ["ws/a.txt", "write", ["workspace-write", "workspace-write-network", "off"]],
  ["more/a.txt", "write", ["workspace-write", "workspace-write-network", "off"]],
  ["ws-sibling/a.txt", "write", ["off"]],
  ["elsewhere/a.txt", "read", ["read-only", "workspace-write", "workspace-write-network", "off"]],
  ["elsewhere/a.txt", "write", ["off"]],
  ["ws/.git/hooks/pre-commit", "write", ["off"]],
  ["ws/.git/config", "write", ["off"]],
  ["ws/nested/.git/config", "write", ["off"]],
  ["more/.opencode/mcp.json", "write", ["off"]],
  ["ws/.gitignore", "write", ["workspace-write", "workspace-write-network", "off"]],
  ["home/.ssh/id_ed25519", "read", ["off"]],
  ["home/.ssh", "search", ["off"]],
  ...[".claude.json", ".claude/x", ".gemini/x", ".copilot/x", ".config/github-copilot/x", ".cargo/credentials"].map(
    (name): (typeof TABLE)[number] => [`home/${name}`, "read", ["off"]],
  ),
  ["home", "search", ["off"]],
  ["home", "read", ["read-only", "workspace-write", "workspace-write-network", "off"]],
  ["ws", "search", ["read-only", "workspace-write", "workspace-write-network", "off"]],
  ["state/eventlog/x", "read", ["off"]],
  ["state/outputs/x", "read", ["read-only", "workspace-write", "workspace-write-network", "off"]],
  ["state/outputs/x", "write", ["off"]],
];

test.each(TABLE)("%s may be used to %s in %j", (path, use, allowed) => {
  const asks = place();
  const modes: SandboxMode[] = ["read-only", "workspace-write", "workspace-write-network", "off"];
  expect(modes.filter((mode) => asks(mode)(path, use))).toEqual(allowed);
});

test("of a hidden directory only a workspace in it is accessible", () => {
  const workspace = { cwd: "/home/me/.codex/worktrees/a" };
  const refusal = fileAccess({ mode: "workspace-write", workspace, stateDir: "/nonexistent", home: "/home/me" });
  expect(refusal("/home/me/.codex/worktrees/a/b.txt", "write")).toBeNull();
  expect(refusal("/home/me/.codex/auth.json", "read")).toContain("hidden");
});

test("the whole file system is not a workspace", () => {
  const refusal = fileAccess({ mode: "workspace-write", workspace: { cwd: "/" }, stateDir: "/nonexistent" });
  expect(refusal("/srv/a.txt", "write")).toContain("outside the workspace");
  expect(refusal("/srv/a.txt", "read")).toBeNull();
});
