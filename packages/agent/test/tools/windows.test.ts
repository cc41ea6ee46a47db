// Differences on Windows that can be tested elsewhere: names of variables, the shell, and programs that are scripts.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findShell } from "../../src/tools/bash.js";
import { cleanEnvironment, variable } from "../../src/tools/environment.js";

const windows = (files: string[], env: Record<string, string> = { ProgramFiles: "C:\\Program Files" }) =>
  findShell(env, { platform: "win32", exists: (path) => files.includes(path) });

describe("the environment", () => {
  test("keeps known names in any case, and no secret", () => {
    const inherited = {
      Path: "C:\\bin",
      SystemRoot: "C:\\Windows",
      ComSpec: "cmd.exe",
      Api_Key: "secret",
      home: "C:\\u",
    };
    const kept = cleanEnvironment(inherited, "win32");
    expect(kept).toMatchObject({ PATH: "C:\\bin", SYSTEMROOT: "C:\\Windows", COMSPEC: "cmd.exe", HOME: "C:\\u" });
    expect(JSON.stringify(kept)).not.toContain("secret");
    expect(cleanEnvironment({}, "win32")["PATH"]).toMatch(/^C:\\Windows/);
  });

  test("elsewhere the case of names matters", () => {
    expect(cleanEnvironment({ Path: "/x" }, "linux")).not.toHaveProperty("Path");
    expect(variable({ Path: "x" }, "PATH", "linux")).toBeUndefined();
    expect(variable({ Path: "x" }, "PATH", "win32")).toBe("x");
  });
});

describe("the shell", () => {
  const gitBash = "C:\\Program Files\\Git\\bin\\bash.exe";

  test("is the bash of Git, and never that of Windows", () => {
    expect(windows([gitBash, "C:\\Windows\\System32\\bash.exe"])).toMatchObject({ name: "bash", file: gitBash });
    const own = "C:\\Users\\ann\\AppData\\Local\\Programs\\Git\\bin\\bash.exe";
    expect(windows([own], { LocalAppData: "C:\\Users\\ann\\AppData\\Local" }).file).toBe(own);
  });

  test("otherwise it is PowerShell, which gets the command unchanged and returns its exit code", () => {
    const shell = windows(["C:\\Windows\\System32\\bash.exe"]);
    expect(shell).toMatchObject({ name: "PowerShell", file: "powershell.exe" });
    const args = shell.args(`echo "it's" & 'more' %PATH%`);
    expect(args.slice(0, -1)).toEqual(["-NoProfile", "-NonInteractive", "-EncodedCommand"]);
    const script = Buffer.from(args.at(-1)!, "base64").toString("utf16le");
    expect(script).toContain(`\necho "it's" & 'more' %PATH%\n`);
    expect(script).toMatch(/exit \$LASTEXITCODE/);
  });
});

test("a program that may be a script is started by the system's shell, where no argument becomes a command, and ended with what it started", {
  tags: ["needs-unix"],
}, () => {
  const directory = mkdtempSync(join(tmpdir(), "windows-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const shell = join(directory, "cmd.exe");
  writeFileSync(shell, `#!/bin/sh\necho "$@" >> "$0.said"\n`, { mode: 0o755 });
  // A process of its own that takes its system for Windows, and finds a shell there that writes down what it is given.
  const program = `
    Object.defineProperty(process, "platform", { value: "win32" });
    const { connectMcp } = await import(${JSON.stringify(new URL("../../dist/mcp/index.js", import.meta.url).href)});
    const server = { type: "stdio", name: "some", command: "npx", args: ["-y", "server", "a & calc"], env: {} };
    const signal = new AbortController().signal;
    const options = { cwd: process.cwd(), directories: [], env: process.env, signal };
    await connectMcp(server, options).catch(() => {});`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: directory,
    encoding: "utf8",
    env: { comspec: shell, PATH: "/usr/bin:/bin" },
  });
  expect(stderr).toBe("");
  const [started, ended] = readFileSync(`${shell}.said`, "utf8").trimEnd().split("\n");
  expect(started).toMatch(/^\/d \/s \/c "npx .*\^&.*"$/);
  // Its answer was none, so it is ended, with all that it may have started.
  expect(ended).toMatch(/taskkill .*\/T.*\/F/);
});
