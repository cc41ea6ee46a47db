// Differences on Windows that can be tested elsewhere: names of variables, the shell, and programs that are scripts.
import childProcess from "node:child_process";
import { EventEmitter } from "node:events";
import { tmpdir } from "node:os";
import { describe, expect, onTestFinished, test, vi } from "vitest";
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

test("a program that may be a script is started by the system's shell, and no argument becomes a command", async () => {
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(process, "platform", "get").mockReturnValue("win32");
  const started = vi.spyOn(childProcess, "spawn").mockReturnValue(new EventEmitter() as childProcess.ChildProcess);
  // Imported only now, because cross-spawn reads the platform once.
  const { spawnGroup } = await import("../../src/tools/process-group.js");
  spawnGroup("npx", ["-y", "server", "a & calc"], { cwd: tmpdir(), env: { PATH: tmpdir() } });
  const [command, args, options] = started.mock.calls[0]!;
  expect(command).toMatch(/cmd\.exe$/i);
  expect(args).toEqual(["/d", "/s", "/c", expect.stringContaining("^&")]);
  expect(options).toMatchObject({ detached: false, windowsHide: true, windowsVerbatimArguments: true });
});
