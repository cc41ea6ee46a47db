/** One classic BPF instruction, `struct sock_filter` of the kernel. */
export interface Instruction {
  readonly code: number;
  readonly jumpTrue: number;
  readonly jumpFalse: number;
  readonly value: number;
}

const LOAD_WORD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const AND = 0x54; // BPF_ALU | BPF_AND | BPF_K
const JUMP_EQUAL = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_GREATER_EQUAL = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const JUMP_ANY_BIT = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const RETURN = 0x06; // BPF_RET | BPF_K

const MAX_INSTRUCTIONS = 4096;
const MAX_JUMP = 255;

export const loadWord = (offset: number): Instruction => plain(LOAD_WORD, offset);
export const mask = (bits: number): Instruction => plain(AND, bits);
export const answer = (action: number): Instruction => plain(RETURN, action);
export const jumpIfEqual = (value: number, whenTrue: number, whenFalse: number): Instruction =>
  jump(JUMP_EQUAL, value, whenTrue, whenFalse);
export const jumpIfAtLeast = (value: number, whenTrue: number, whenFalse: number): Instruction =>
  jump(JUMP_GREATER_EQUAL, value, whenTrue, whenFalse);
export const jumpIfAnyBit = (bits: number, whenTrue: number, whenFalse: number): Instruction =>
  jump(JUMP_ANY_BIT, bits, whenTrue, whenFalse);

/** The bytes the kernel (and `bwrap --seccomp`) reads. */
export function encode(program: readonly Instruction[]): Buffer {
  if (program.length > MAX_INSTRUCTIONS) throw new RangeError(`seccomp program of ${program.length} instructions`);
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach((instruction, index) => {
    const at = index * 8;
    bytes.writeUInt16LE(instruction.code, at);
    bytes.writeUInt8(instruction.jumpTrue, at + 2);
    bytes.writeUInt8(instruction.jumpFalse, at + 3);
    bytes.writeUInt32LE(instruction.value >>> 0, at + 4);
  });
  return bytes;
}

// --- internal ---

function plain(code: number, value: number): Instruction {
  return { code, jumpTrue: 0, jumpFalse: 0, value };
}

function jump(code: number, value: number, jumpTrue: number, jumpFalse: number): Instruction {
  if (jumpTrue > MAX_JUMP || jumpFalse > MAX_JUMP) throw new RangeError("seccomp jump too far");
  return { code, jumpTrue, jumpFalse, value };
}
