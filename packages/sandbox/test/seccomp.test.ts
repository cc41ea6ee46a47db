import { spawnSync } from "node:child_process";
import { closeSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { descriptorsOf } from "../src/confine/linux.js";
import { seccompFilter } from "../src/seccomp/filter.js";
import { seccompLoader } from "../src/seccomp/loader.js";
import type { SeccompArch } from "../src/seccomp/syscalls.js";

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;

/** A classic BPF interpreter that runs the filter like the kernel. */
function evaluate(program: Buffer, data: Buffer): number {
  let accumulator = 0;
  for (let pc = 0; pc < program.length / 8; pc += 1) {
    const code = program.readUInt16LE(pc * 8);
    const [yes, no] = [program.readUInt8(pc * 8 + 2), program.readUInt8(pc * 8 + 3)];
    const value = program.readUInt32LE(pc * 8 + 4);
    if (code === 0x06) return value;
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x54) accumulator = (accumulator & value) >>> 0;
    else if (code === 0x15) pc += accumulator === value ? yes : no;
    else if (code === 0x35) pc += accumulator >= value ? yes : no;
    else if (code === 0x45) pc += (accumulator & value) !== 0 ? yes : no;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error("fell off the end");
}

const AUDIT: Record<SeccompArch, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

function call(arch: SeccompArch, nr: number, args: readonly number[] = [], audit = AUDIT[arch]): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(nr >>> 0, 0);
  data.writeUInt32LE(audit, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt(value), 16 + index * 8);
  return evaluate(seccompFilter(arch), data);
}

test.each(["x64", "arm64"] as const)("%s: a foreign call table is fatal, and future calls do not exist", (arch) => {
  expect(call(arch, 1, [], 0x40000003)).toBe(KILL);
  expect(call(arch, 467)).toBe(ENOSYS);
  expect(call(arch, 0x40000001)).toBe(ENOSYS);
  expect(call(arch, 435)).toBe(ENOSYS);
  expect(call(arch, 437)).toBe(ENOSYS);
  expect(call(arch, 425)).toBe(EPERM);
});

test.each([
  ["x64 read", "x64", 0, [], ALLOW],
  ["x64 internet socket", "x64", 41, [2, 1, 0], ALLOW],
  ["x64 internet 6 socket", "x64", 41, [10, 1, 0], ALLOW],
  ["x64 unix socket", "x64", 41, [1, 1, 0], EPERM],
  ["x64 unix socket with high bits", "x64", 41, [2 ** 32 + 1, 1, 0], EPERM],
  ["x64 netlink", "x64", 41, [16, 3, 0], EPERM],
  ["x64 stream pair, close-on-exec", "x64", 53, [1, 0x80001, 0], ALLOW],
  ["x64 datagram pair", "x64", 53, [1, 2, 0], EPERM],
  ["x64 internet pair", "x64", 53, [2, 1, 0], EPERM],
  ["x64 fork", "x64", 56, [0x1200011], ALLOW],
  ["x64 thread", "x64", 56, [0x3d0f00], ALLOW],
  ["x64 new user namespace", "x64", 56, [0x10000011], EPERM],
  ["x64 new cgroup namespace", "x64", 56, [0x02000011], EPERM],
  ["x64 terminal size", "x64", 16, [0, 0x5413], ALLOW],
  ["x64 terminal injection", "x64", 16, [0, 0x5412], EPERM],
  ["x64 terminal injection with high bits", "x64", 16, [0, 2 ** 32 + 0x5412], EPERM],
  ["x64 chmod 755", "x64", 90, [0, 0o755], ALLOW],
  ["x64 chmod 4755", "x64", 90, [0, 0o4755], EPERM],
  ["x64 open for reading, stale mode", "x64", 2, [0, 0, 0o4777], ALLOW],
  ["x64 create 4777", "x64", 257, [0, 0, 0x41, 0o4777], EPERM],
  ["x64 temporary file 4777", "x64", 257, [0, 0, 0x410002, 0o4777], EPERM],
  ["x64 ptrace", "x64", 101, [], EPERM],
  ["x64 keyctl", "x64", 250, [], EPERM],
  ["arm64 read", "arm64", 63, [], ALLOW],
  ["arm64 internet socket", "arm64", 198, [2, 1, 0], ALLOW],
  ["arm64 unix socket", "arm64", 198, [1, 1, 0], EPERM],
  ["arm64 stream pair", "arm64", 199, [1, 1, 0], ALLOW],
  ["arm64 datagram pair", "arm64", 199, [1, 2, 0], EPERM],
  ["arm64 new user namespace", "arm64", 220, [0x10000011], EPERM],
  ["arm64 terminal injection", "arm64", 29, [0, 0x5412], EPERM],
  ["arm64 create 4777", "arm64", 56, [0, 0, 0x41, 0o4777], EPERM],
  ["arm64 fchmodat 2755", "arm64", 53, [0, 0, 0o2755], EPERM],
  ["arm64 mount", "arm64", 40, [], EPERM],
] as const)("%s", (_name, arch, nr, args, answer) => {
  expect(call(arch, nr, args)).toBe(answer);
});

describe("the loader", () => {
  const HEADER = 120;
  const CODE = { x64: 80, arm64: 72 } as const;

  test.each([
    ["x64", 62],
    ["arm64", 183],
  ] as const)("for %s has the filter at the address in its code", (arch, machine) => {
    const filter = seccompFilter(arch);
    const loader = seccompLoader(arch, filter);
    const program = HEADER + CODE[arch];
    const base = Number(loader.readBigUInt64LE(80));
    expect(loader.readUInt16LE(18)).toBe(machine);
    expect(Number(loader.readBigUInt64LE(24))).toBe(base + HEADER);
    expect(Number(loader.readBigUInt64LE(96))).toBe(loader.length);
    expect(program % 8).toBe(0);
    expect(loader.readUInt16LE(program)).toBe(filter.length / 8);
    expect(Number(loader.readBigUInt64LE(program + 8))).toBe(base + program + 16);
    expect(loader.subarray(program + 16).equals(filter)).toBe(true);
  });

  test("executes the command, with the filter loaded and its own descriptor closed", {
    tags: ["needs-namespaces"],
  }, () => {
    const arch = process.arch as SeccompArch;
    const fd = descriptorsOf(seccompLoader(arch, seccompFilter(arch)))();
    const start = (...args: string[]) =>
      spawnSync("setpriv", ["--no-new-privs", "--", "/proc/self/fd/3", ...args], {
        stdio: ["ignore", "pipe", "pipe", fd],
        env: { ...process.env, GIVEN: "yes" },
        encoding: "utf8",
      });
    const script =
      'echo "$0 $1 $GIVEN"; grep ^Seccomp: /proc/self/status; test -e /proc/self/fd/3 || echo closed; exit 7';
    const { stdout, status } = start("/bin/sh", "-c", script, "a", "b c");
    expect({ stdout, status }).toEqual({ stdout: "a b c yes\nSeccomp:\t2\nclosed\n", status: 7 });
    expect(start("/nonexistent").status).toBe(126);
    expect(start().status).toBe(126);
    closeSync(fd);
  });
});
