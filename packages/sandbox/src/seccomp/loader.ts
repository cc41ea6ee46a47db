import { AUDIT_ARCH, type SeccompArch } from "./syscalls.js";

/**
 * Makes a tiny program that loads a filter and then executes the command line in its arguments. It is started through descriptor 3, which
 * it closes. No program of every Linux can load a filter (`setpriv` can, since util-linux 2.41), so we write the few instructions
 * ourselves. It exits with 126 when the kernel refuses the filter or the command.
 */
export function seccompLoader(arch: SeccompArch, filter: Buffer): Buffer {
  const code = Buffer.concat(CODE[arch].map(([bytes]) => Buffer.from(bytes, "hex")));
  const at = HEADER_BYTES + code.length;
  const size = at + PROGRAM_BYTES + filter.length;
  return Buffer.concat([header(arch, size), code, programAt(BASE + at + PROGRAM_BYTES, filter.length / 8), filter]);
}

// --- internal ---

const BASE = 0x400000;
const FILE_HEADER_BYTES = 64;
const SEGMENT_HEADER_BYTES = 56;
const HEADER_BYTES = FILE_HEADER_BYTES + SEGMENT_HEADER_BYTES;
const PROGRAM_BYTES = 16;

/** `e_machine`. */
const MACHINE: Record<SeccompArch, number> = { x64: AUDIT_ARCH.x64 & 0xffff, arm64: AUDIT_ARCH.arm64 & 0xffff };

/**
 * `close(3); prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) || execve(argv[1], argv + 1, envp); exit(126)`. The
 * program lies right after the code. On entry the stack holds argc, argv, a null and envp.
 */
const CODE: Record<SeccompArch, readonly (readonly [bytes: string, instruction: string])[]> = {
  x64: [
    ["b803000000", "mov eax, 3 (close)"],
    ["bf03000000", "mov edi, 3"],
    ["0f05", "syscall"],
    ["b89d000000", "mov eax, 157 (prctl)"],
    ["bf16000000", "mov edi, 22 (PR_SET_SECCOMP)"],
    ["be02000000", "mov esi, 2 (SECCOMP_MODE_FILTER)"],
    ["488d152e000000", "lea rdx, [rip + program]"],
    ["0f05", "syscall"],
    ["85c0", "test eax, eax"],
    ["7517", "jne exit"],
    ["488b0c24", "mov rcx, [rsp] (argc)"],
    ["488d742410", "lea rsi, [rsp + 16] (argv + 1)"],
    ["488b3e", "mov rdi, [rsi]"],
    ["488d14ce", "lea rdx, [rsi + rcx * 8] (envp)"],
    ["b83b000000", "mov eax, 59 (execve)"],
    ["0f05", "syscall"],
    ["b83c000000", "exit: mov eax, 60 (exit)"],
    ["bf7e000000", "mov edi, 126"],
    ["0f05", "syscall"],
    ["0f1f440000", "nop, so that the program is aligned"],
  ],
  arm64: [
    ["600080d2", "mov x0, 3"],
    ["280780d2", "mov x8, 57 (close)"],
    ["010000d4", "svc 0"],
    ["c00280d2", "mov x0, 22 (PR_SET_SECCOMP)"],
    ["410080d2", "mov x1, 2 (SECCOMP_MODE_FILTER)"],
    ["a2010010", "adr x2, program"],
    ["e81480d2", "mov x8, 167 (prctl)"],
    ["010000d4", "svc 0"],
    ["e00000b5", "cbnz x0, exit"],
    ["e30340f9", "ldr x3, [sp] (argc)"],
    ["e1430091", "add x1, sp, 16 (argv + 1)"],
    ["200040f9", "ldr x0, [x1]"],
    ["220c038b", "add x2, x1, x3, lsl 3 (envp)"],
    ["a81b80d2", "mov x8, 221 (execve)"],
    ["010000d4", "svc 0"],
    ["c00f80d2", "exit: mov x0, 126"],
    ["a80b80d2", "mov x8, 93 (exit)"],
    ["010000d4", "svc 0"],
  ],
};

/** The header of an ELF file with one segment, which is readable and executable but not writable. */
function header(arch: SeccompArch, size: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.write("7f454c46020101", "hex"); // ELF, 64 bits, little-endian, version 1
  bytes.writeUInt16LE(2, 16); // ET_EXEC
  bytes.writeUInt16LE(MACHINE[arch], 18);
  bytes.writeUInt32LE(1, 20);
  bytes.writeBigUInt64LE(BigInt(BASE + HEADER_BYTES), 24); // entry
  bytes.writeBigUInt64LE(BigInt(FILE_HEADER_BYTES), 32); // where the segments are listed
  bytes.writeUInt16LE(FILE_HEADER_BYTES, 52);
  bytes.writeUInt16LE(SEGMENT_HEADER_BYTES, 54);
  bytes.writeUInt16LE(1, 56);
  const segment = FILE_HEADER_BYTES;
  bytes.writeUInt32LE(1, segment); // PT_LOAD
  bytes.writeUInt32LE(5, segment + 4); // read and execute
  bytes.writeBigUInt64LE(BigInt(BASE), segment + 16);
  bytes.writeBigUInt64LE(BigInt(BASE), segment + 24);
  bytes.writeBigUInt64LE(BigInt(size), segment + 32);
  bytes.writeBigUInt64LE(BigInt(size), segment + 40);
  bytes.writeBigUInt64LE(0x10000n, segment + 48); // the largest page of both machines
  return bytes;
}

/** `struct sock_fprog`. */
function programAt(address: number, instructions: number): Buffer {
  const bytes = Buffer.alloc(PROGRAM_BYTES);
  bytes.writeUInt16LE(instructions, 0);
  bytes.writeBigUInt64LE(BigInt(address), 8);
  return bytes;
}
