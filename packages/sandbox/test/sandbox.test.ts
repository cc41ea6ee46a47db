import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createSandbox, type SandboxOptions } from "../src/index.js";
import { refusal, run } from "./run.js";

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

  test("a bwrap that cannot start counts as missing, and the error says why", async () => {
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

  test("util-linux counts as missing if namespaces are forbidden, and the error names both remedies", async () => {
    const bin = join(base, "bin");
    mkdirSync(bin);
    const program = (name: string, text: string) => {
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(bin, name), 0o755);
    };
    for (const name of ["mount", "umount", "mkdir", "cp", "env"]) program(name, "exit 1");
    program("setpriv", 'shift 3; exec "$@"');
    program("unshare", '[ "$1" = --version ] && exit 0; echo "unshare failed: Operation not permitted" >&2; exit 1');
    const error = await refusal(() => sandbox({ env: { PATH: bin } }).confine("true"));
    expect(error.message).toBe(
      `no bwrap on PATH; ${bin}/unshare cannot start here: unshare failed: Operation not permitted`,
    );
    expect(error.hint).toMatch(/install bubblewrap .* or allow unprivileged user namespaces/);
  });

  test("off runs commands unconfined, and so does an explicit osSandbox off, with one message", async () => {
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
