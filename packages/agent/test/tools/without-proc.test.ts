// A machine that does not tell of its processes: a chroot or a container where /proc is not mounted.
import { execFile } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bench } from "./bench.js";

/** The whole file system but for /proc. */
function allButProc(): string[] {
  const entries = readdirSync("/", { withFileTypes: true }).filter(({ name }) => name !== "proc");
  const mounts = entries.flatMap((entry) => {
    const path = join("/", entry.name);
    if (entry.isSymbolicLink()) return ["--symlink", readlinkSync(path), path];
    return entry.isDirectory() ? ["--dev-bind", path, path] : [];
  });
  return ["--tmpfs", "/", ...mounts];
}

const PROGRAM = `
  import { existsSync } from "node:fs";
  import { createBashTool, localWorkspace } from "@chimera/agent/tools";
  const workspace = localWorkspace(process.argv[1], []);
  const signal = new AbortController().signal;
  const tool = createBashTool({ env: process.env });
  const outcome = await tool.run({ command: "echo begun; sleep 30", timeout: 0.5, cwd: "." }, { callId: "c", workspace, signal, emit() {} });
  console.log(JSON.stringify({ proc: existsSync("/proc/self"), ...outcome }));
`;

test.runIf(process.platform === "linux")("a command that takes too long is ended there as anywhere", async () => {
  const { cwd } = await bench();
  const node = [process.execPath, "--input-type=module", "-e", PROGRAM, cwd];
  const { stdout } = await promisify(execFile)("bwrap", [...allButProc(), "--", ...node], { cwd: import.meta.dirname });
  const { proc, success, output, error } = JSON.parse(stdout);
  expect({ proc, success }).toEqual({ proc: false, success: false });
  expect(output).toContain("begun");
  expect(error).not.toMatch(/ENOENT/);
});
