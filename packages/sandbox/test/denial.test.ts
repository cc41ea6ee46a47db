import { describe, expect, test } from "vitest";
import { findDenial, type SandboxMode } from "../src/index.js";

const anything = { cwd: "/w", refuses: () => true };

test.each([
  ["touch: cannot touch 'x': Read-only file system", "read-only", false, /writes/],
  ["Error: EROFS: read-only file system, open 'x'", "workspace-write", true, /writes/],
  ["curl: (6) Could not resolve host: example.com", "workspace-write", true, /network/],
  ["curl: (6) Could not resolve host: example.com", "workspace-write-network", true, null],
  ["mount: Operation not permitted", "read-only", true, /permit/],
  ["warning: Operation not permitted", "read-only", false, null],
  ["touch: Read-only file system", "off", true, null],
  ["bash: .opencode/mcp.json: Permission denied", "workspace-write", true, /writes/],
  ["Error: EACCES: permission denied, mkdir '/w/.git/hooks'", "workspace-write", true, /writes/],
  ["cat: notes.txt: Permission denied", "workspace-write", true, null],
  ["AssertionError: 1 !== 2", "read-only", true, null],
] as const)("%j in %s (failed: %s)", (stderr, mode, failed, reason) => {
  const found = findDenial(stderr, { ...anything, mode, failed });
  if (reason === null) expect(found).toBeNull();
  else expect(found?.reason).toMatch(reason);
});

describe("the path that could not be written", () => {
  const pathIn = (stderr: string, mode: SandboxMode = "read-only", refuses = (_path: string) => true) =>
    findDenial(stderr, { mode, failed: true, cwd: "/w", refuses })?.path;

  test.each([
    ["touch: cannot touch '/etc/x y': Read-only file system", "/etc/x y"],
    ["touch: cannot touch ‘/etc/x’: Read-only file system", "/etc/x"],
    ["/bin/bash: line 1: /etc/x: Read-only file system", "/etc/x"],
    ["bash: notes: Read-only file system", "/w/notes"],
    ["sh: 1: cannot create /etc/x: Read-only file system", "/etc/x"],
    ["zsh:1: read-only file system: /etc/x", "/etc/x"],
    ["mkdir: cannot create directory 'a/b': Read-only file system", "/w/a/b"],
    ["mv: cannot move 'a' to '/srv/b': Read-only file system", "/srv/b"],
    ["sed: couldn't open temporary file ./sedKx2: Read-only file system", "/w/sedKx2"],
    ["tee: /etc/x: Read-only file system", "/etc/x"],
    ["tar: src/a.txt: Cannot open: Read-only file system", "/w/src/a.txt"],
    ["error: could not lock config file .git/config: Read-only file system", "/w/.git/config"],
    ["fatal: Unable to create '/w/.git/index.lock': Read-only file system", "/w/.git/index.lock"],
    ["Error: EROFS: read-only file system, open '/etc/x'", "/etc/x"],
    ["Error: EROFS: read-only file system, rename '/w/a' -> '/srv/b'", "/srv/b"],
    ["OSError: [Errno 30] Read-only file system: '/etc/x'", "/etc/x"],
    ["java.io.FileNotFoundException: /etc/x (Read-only file system)", "/etc/x"],
    ["Read-only file system @ rb_sysopen - /etc/x (Errno::EROFS)", "/etc/x"],
    ["2026/11/17 open /etc/x: read-only file system", undefined],
    ["panic: open /etc/x: read-only file system", "/etc/x"],
    ["bash: .opencode/mcp.json: Permission denied", undefined],
    ["noise\ntouch: Read-only file system\nmkdir: cannot create directory '/b': Read-only file system", "/b"],
  ])("%j: %s", (stderr, path) => {
    expect(pathIn(stderr)).toBe(path);
  });

  test("is found for a covered protected place", () => {
    expect(pathIn("bash: .opencode/mcp.json: Permission denied", "workspace-write")).toBe("/w/.opencode/mcp.json");
  });

  test("is one that the mode refuses, or is missing", () => {
    const refuses = (path: string) => !path.startsWith("/w");
    expect(pathIn("mv: cannot move '/srv/a' to '/w/b': Read-only file system", "workspace-write", refuses)).toBe(
      "/srv/a",
    );
    expect(pathIn("touch: cannot touch 'x': Read-only file system", "workspace-write", refuses)).toBeUndefined();
  });

  test("does not come from a message about the network, or from text that is not a path", () => {
    expect(pathIn("connect '/etc/x': Network is unreachable")).toBeUndefined();
    expect(pathIn("touch: cannot touch 'a\u001b[31m': Read-only file system")).toBeUndefined();
    expect(pathIn(`touch: cannot touch '/${"x".repeat(5000)}': Read-only file system`)).toBeUndefined();
  });

  test("is found in bounded time, whatever a command prints", () => {
    const hostile = ["'", "‘", '"', "`", "a: ", "/ ", "(", " ", "'‘\"`", "/:"].flatMap((piece) => [
      `${piece.repeat(8000 / piece.length)}: Read-only file system`,
      `Read-only file system ${piece.repeat(8000 / piece.length)}`,
    ]);
    const started = performance.now();
    for (const line of hostile) pathIn(Array(8).fill(line).join("\n"));
    expect(performance.now() - started).toBeLessThan(1000);
  });
});
