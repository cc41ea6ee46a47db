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

/** The architecture, if `seccompFilter` supports it. */
export function seccompArch(arch: string): SeccompArch | undefined {
  return Object.hasOwn(AUDIT_ARCH, arch) ? (arch as SeccompArch) : undefined;
}

/**
 * The filter for every confined command, as the bytes of a BPF program. It blocks what namespaces do not: sockets that name a path (they
 * ignore read-only mounts), netlink, io_uring, keyrings, tracing, new namespaces, terminal injection, and set-user-id files, which would
 * outlive the sandbox.
 */
export function seccompFilter(arch: SeccompArch): Buffer {
  return encode([
    loadWord(ARCH),
    jumpIfEqual(AUDIT_ARCH[arch], 1, 0),
    answer(KILL_PROCESS),
    loadWord(NUMBER),
    jumpIfAtLeast(FIRST_UNKNOWN, 0, 1),
    answer(NOT_IMPLEMENTED),
    ...decide(rulesOf(arch).sort((one, other) => one.nr - other.nr)),
  ]);
}

// --- internal ---

/** The rule for a system call. Every path through its body ends with an answer. */
interface Rule {
  readonly nr: number;
  readonly body: readonly Instruction[];
}

function rulesOf(arch: SeccompArch): Rule[] {
  const calls = INSPECTED[arch];
  const denied = [...Object.values(DENIED).flatMap((row) => row[arch] ?? []), ...Object.values(DENIED_EVERYWHERE)];
  return [
    ...denied.map((nr) => ({ nr, body: [answer(NOT_PERMITTED)] })),
    ...Object.values(ABSENT_EVERYWHERE).map((nr) => ({ nr, body: [answer(NOT_IMPLEMENTED)] })),
    { nr: calls.socket, body: [loadWord(argument(0)), ...among([AF_INET, AF_INET6], ALLOW, NOT_PERMITTED)] },
    {
      nr: calls.socketpair,
      // A datagram pair can be re-aimed with connect() or sendto(); a stream or packet pair cannot.
      body: [
        loadWord(argument(0)),
        jumpIfEqual(AF_UNIX, 1, 0),
        answer(NOT_PERMITTED),
        loadWord(argument(1)),
        mask(SOCK_TYPE_MASK),
        ...among([SOCK_STREAM, SOCK_SEQPACKET], ALLOW, NOT_PERMITTED),
      ],
    },
    { nr: calls.clone, body: denyBits(argument(0), NAMESPACE_FLAGS) },
    { nr: calls.ioctl, body: [loadWord(argument(1)), ...among([TIOCSTI, TIOCLINUX], NOT_PERMITTED, ALLOW)] },
    ...MODE_SETTERS[arch].map(({ nr, mode, flags }) => ({
      nr,
      body: [
        ...(flags === undefined
          ? []
          : [loadWord(argument(flags)), jumpIfAnyBit(O_CREAT_OR_TMPFILE, 1, 0), answer(ALLOW)]),
        ...denyBits(argument(mode), SET_ID_BITS),
      ],
    })),
  ];
}

/** This few calls are compared in a row, because splitting them further would make the program longer without making it faster. */
const COMPARED_IN_ROW = 4;

/** A binary search. The kernel runs the program for every known system call when it loads it, which it does for each command. */
function decide(sorted: readonly Rule[]): Instruction[] {
  if (sorted.length <= COMPARED_IN_ROW) {
    const compared = sorted.flatMap(({ nr, body }) => [jumpIfEqual(nr, 0, body.length), ...body]);
    return [...compared, answer(ALLOW)];
  }
  const middle = sorted.length >> 1;
  const below = decide(sorted.slice(0, middle));
  return [jumpIfAtLeast(sorted[middle]!.nr, below.length, 0), ...below, ...decide(sorted.slice(middle))];
}

/** Answers with `these` if the loaded word is one of the values, or else with `others`. */
function among(values: readonly number[], these: number, others: number): Instruction[] {
  const jumps = values.map((value, index) => jumpIfEqual(value, values.length - index, 0));
  return [...jumps, answer(others), answer(these)];
}

function denyBits(offset: number, bits: number): Instruction[] {
  return [loadWord(offset), jumpIfAnyBit(bits, 0, 1), answer(NOT_PERMITTED), answer(ALLOW)];
}

/** One classic BPF instruction, `struct sock_filter` of the kernel. */
type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, value: number];

type Jump = (value: number, whenTrue: number, whenFalse: number) => Instruction;

const loadWord = (offset: number): Instruction => [0x20, 0, 0, offset]; // BPF_LD | BPF_W | BPF_ABS
const mask = (bits: number): Instruction => [0x54, 0, 0, bits]; // BPF_ALU | BPF_AND | BPF_K
const answer = (action: number): Instruction => [0x06, 0, 0, action]; // BPF_RET | BPF_K
const jumpIfEqual: Jump = (value, whenTrue, whenFalse) => [0x15, whenTrue, whenFalse, value]; // BPF_JMP | BPF_JEQ | BPF_K
const jumpIfAtLeast: Jump = (value, whenTrue, whenFalse) => [0x35, whenTrue, whenFalse, value]; // BPF_JMP | BPF_JGE | BPF_K
const jumpIfAnyBit: Jump = (bits, whenTrue, whenFalse) => [0x45, whenTrue, whenFalse, bits]; // BPF_JMP | BPF_JSET | BPF_K

/** Encodes the program for the kernel and `bwrap --seccomp`. Throws a RangeError for a jump of more than 255 instructions. */
function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, jumpTrue, jumpFalse, value]] of program.entries()) {
    const at = bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, at);
    bytes.writeUInt8(jumpFalse, at + 1);
    bytes.writeUInt32LE(value >>> 0, at + 2);
  }
  return bytes;
}
