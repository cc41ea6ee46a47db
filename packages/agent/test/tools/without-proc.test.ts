// A machine without /proc: a chroot or a container in which it is not mounted.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bench } from "./bench.js";

/** Runs what follows with an empty directory in place of /proc. */
const WITHOUT_PROC = ["-Urm", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"];

const PROGRAM = `
  import { existsSync } from "node:fs";
  import { createBashTool, localWorkspace } from "@chimera/agent/tools";
  const workspace = localWorkspace(process.argv[1], []);
  const signal = new AbortController().signal;
  const tool = createBashTool({ env: process.env });
  const outcome = await tool.run({ command: "echo begun; sleep 30", timeout: 0.5, cwd: "." }, { callId: "c", workspace, signal, emit() {} });
  console.log(JSON.stringify({ proc: existsSync("/proc/self"), ...outcome }));
`;

test("a command that takes too long is ended there too", { tags: ["needs-namespaces"] }, async () => {
  const { cwd } = await bench();
  const node = [process.execPath, "--input-type=module", "-e", PROGRAM, cwd];
  const { stdout } = await promisify(execFile)("unshare", [...WITHOUT_PROC, ...node], { cwd: import.meta.dirname });
  const { proc, success, output, error } = JSON.parse(stdout);
  expect({ proc, success }).toEqual({ proc: false, success: false });
  expect(output).toContain("begun");
  expect(error).not.toMatch(/ENOENT/);
});
