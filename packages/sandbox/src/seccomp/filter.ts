import {
  answer,
  encode,
  type Instruction,
  jumpIfAnyBit,
  jumpIfAtLeast,
  jumpIfEqual,
  loadWord,
  mask,
} from "./program.js";
import {
  ABSENT_EVERYWHERE,
  AUDIT_ARCH,
  DENIED,
  DENIED_EVERYWHERE,
  FIRST_UNKNOWN,
  INSPECTED,
  MODE_SETTERS,
  type SeccompArch,
} from "./syscalls.js";

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const NOT_PERMITTED = 0x00050000 | 1; // SECCOMP_RET_ERRNO | EPERM
const NOT_IMPLEMENTED = 0x00050000 | 38; // SECCOMP_RET_ERRNO | ENOSYS

// Offsets in struct seccomp_data. Both machines are little-endian, so an argument's low word comes first.
const NUMBER = 0;
const ARCH = 4;
const argument = (index: number): number => 16 + 8 * index;

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_TYPE_MASK = 0xf;
const SOCK_STREAM = 1;
const SOCK_SEQPACKET = 5;
const TIOCSTI = 0x5412; // types characters into the terminal
const TIOCLINUX = 0x541c; // does so on a Linux console
const NAMESPACE_FLAGS = 0x7e020000; // CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
const O_CREAT_OR_TMPFILE = 0x400040;
const SET_ID_BITS = 0o6000;

/** Architectures `seccompFilter` knows. */
export function seccompArch(arch: string): SeccompArch | undefined {
  return Object.hasOwn(AUDIT_ARCH, arch) ? (arch as SeccompArch) : undefined;
}

/**
 * The filter every confined command runs under, as the bytes of a BPF program. It holds what namespaces do not: sockets that
 * name a path (they ignore read-only mounts), netlink, io_uring, keyrings, tracing, new namespaces, terminal injection, and
 * set-user-id files, which would outlive the sandbox.
 */
export function seccompFilter(arch: SeccompArch): Buffer {
  const calls = INSPECTED[arch];
  const denied = { ...DENIED[arch], ...DENIED_EVERYWHERE };
  return encode([
    loadWord(ARCH),
    jumpIfEqual(AUDIT_ARCH[arch], 1, 0),
    answer(KILL_PROCESS),
    loadWord(NUMBER),
    jumpIfAtLeast(FIRST_UNKNOWN, 0, 1),
    answer(NOT_IMPLEMENTED),
    ...Object.values(denied).flatMap((nr) => on(nr, [answer(NOT_PERMITTED)])),
    ...Object.values(ABSENT_EVERYWHERE).flatMap((nr) => on(nr, [answer(NOT_IMPLEMENTED)])),
    ...on(calls.socket, allowOnly(argument(0), [AF_INET, AF_INET6])),
    // A datagram pair can be re-aimed with connect() or sendto(); a stream or packet pair cannot.
    ...on(calls.socketpair, [
      loadWord(argument(0)),
      jumpIfEqual(AF_UNIX, 1, 0),
      answer(NOT_PERMITTED),
      ...allowOnly(argument(1), [SOCK_STREAM, SOCK_SEQPACKET], SOCK_TYPE_MASK),
    ]),
    ...on(calls.clone, denyBits(argument(0), NAMESPACE_FLAGS)),
    ...on(calls.ioctl, denyValues(argument(1), [TIOCSTI, TIOCLINUX])),
    ...MODE_SETTERS[arch].flatMap(({ nr, mode, flags }) =>
      on(nr, [
        ...(flags === undefined
          ? []
          : [loadWord(argument(flags)), jumpIfAnyBit(O_CREAT_OR_TMPFILE, 1, 0), answer(ALLOW)]),
        ...denyBits(argument(mode), SET_ID_BITS),
      ]),
    ),
    answer(ALLOW),
  ]);
}

// --- internal ---
// Each body ends in an answer on every path, so the call number stays loaded for the next rule.

function on(nr: number, body: readonly Instruction[]): Instruction[] {
  return [jumpIfEqual(nr, 0, body.length), ...body];
}

function allowOnly(offset: number, values: readonly number[], bits?: number): Instruction[] {
  return [
    loadWord(offset),
    ...(bits === undefined ? [] : [mask(bits)]),
    ...values.map((value, index) => jumpIfEqual(value, values.length - index, 0)),
    answer(NOT_PERMITTED),
    answer(ALLOW),
  ];
}

function denyValues(offset: number, values: readonly number[]): Instruction[] {
  return [
    loadWord(offset),
    ...values.map((value, index) => jumpIfEqual(value, values.length - index, 0)),
    answer(ALLOW),
    answer(NOT_PERMITTED),
  ];
}

function denyBits(offset: number, bits: number): Instruction[] {
  return [loadWord(offset), jumpIfAnyBit(bits, 0, 1), answer(NOT_PERMITTED), answer(ALLOW)];
}
