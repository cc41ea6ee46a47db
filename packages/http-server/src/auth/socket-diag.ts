/**
 * Asks Linux about one socket (sock_diag(7)). The time does not depend on how many sockets there are. Node cannot open the kind of socket
 * that this needs, so a Perl process, which nearly every system has, carries the bytes to the kernel and back. Perl ends with this
 * process, because its input ends then.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { endianness } from "node:os";

export interface End {
  readonly address: string;
  readonly port: number;
}

/** The bytes of an address. An IPv4 address has four, also when it is written as IPv6. */
export function bytesOf(address: string): number[] {
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (v4) return v4.split(".").map(Number);
  const [first, last] = address.replace(/%.*/, "").split("::").map(groupsOf);
  const filled = Math.max(0, 16 - (first?.length ?? 0) - (last?.length ?? 0));
  return [...(first ?? []), ...Array(filled).fill(0), ...(last ?? [])];
}

export function startAskingKernel(perl = "/usr/bin/perl") {
  const waiting: ((answer: Buffer | null) => void)[] = [];
  let given = Buffer.alloc(0);
  let gone = false;
  const end = () => {
    gone = true;
    child.kill("SIGKILL");
    for (const answered of waiting.splice(0)) answered(null);
  };
  const child = spawn(perl, ["-e", CARRIER], { stdio: ["pipe", "pipe", "ignore"], env: {}, cwd: "/" });
  child.once("error", end).once("close", end);
  child.stdin.on("error", end);
  child.stdout.on("error", end).on("data", (piece: Buffer) => {
    given = Buffer.concat([given, piece]);
    while (given.length >= 4 && given.length >= 4 + given.readUInt32BE()) {
      const size = 4 + given.readUInt32BE();
      waiting.shift()?.(given.subarray(4, size));
      given = given.subarray(size);
    }
  });
  letGo(child);

  /** The user who made the socket from one end to the other. Undefined if there is no such socket, null without an answer. */
  const ask = async (from: End, to: End): Promise<number | undefined | null> => {
    if (gone) return null;
    const asked = question(from, to);
    // After a missing answer Perl is ended: answers belong to questions by their order alone.
    const late = setTimeout(end, PATIENCE_MS);
    const answer = await new Promise<Buffer | null>((resolve) => {
      waiting.push(resolve);
      child.stdin.write(asked);
    });
    clearTimeout(late);
    return answer && makerIn(answer, asked);
  };
  return { ask, end };
}

// --- internal ---

const CARRIER =
  '$| = 1; socket(S, 16, 3, 4) or exit 1; while (read(STDIN, $q, 72) == 72) { defined send(S, $q, 0) or exit 1; defined recv(S, $a, 8192, 0) or exit 1; print pack("N/a*", $a) }';

const PATIENCE_MS = 500;
/** The offsets of both ports and addresses in a question and in an answer, and their length. */
const [ASKED, ANSWERED, ENDS] = [24, 20, 36];
/** The offsets of the user and the inode in an answer. */
const [UID, INODE] = [80, 84];

/** Lets the program end while Perl waits for a question. */
function letGo(child: ChildProcess): void {
  child.unref();
  for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as { unref(): void }).unref();
}

/** A `nlmsghdr` and an `inet_diag_req_v2`. */
function question(from: End, to: End): Buffer {
  const message = Buffer.alloc(72);
  const [source, target] = [bytesOf(from.address), bytesOf(to.address)];
  put32(message, 72, 0); // its length
  message.set(Buffer.from(endianness() === "LE" ? [20, 0, 1, 0] : [0, 20, 0, 1]), 4); // SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST
  message.set([source.length === 4 ? 2 : 10, 6], 16); // the family, TCP
  message.fill(0xff, 20, 24); // in any state
  message.writeUInt16BE(from.port, ASKED);
  message.writeUInt16BE(to.port, ASKED + 2);
  message.set(source, ASKED + 4);
  message.set(target, ASKED + 20);
  message.fill(0xff, 64); // without a cookie
  return message;
}

/**
 * Reads the user from an answer. If there is no such socket, the kernel answers with a listener of the same port, so both ends are compared.
 * A socket that no process holds has inode 0.
 */
function makerIn(answer: Buffer, asked: Buffer): number | undefined {
  if (answer.length < INODE + 4) return undefined;
  if (answer.compare(asked, ASKED, ASKED + ENDS, ANSWERED, ANSWERED + ENDS) !== 0) return undefined;
  return get32(answer, INODE) === 0 ? undefined : get32(answer, UID);
}

function groupsOf(part: string): number[] {
  const groups = part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  return groups.flatMap((group) => [group >> 8, group & 255]);
}

const get32 = (buffer: Buffer, at: number) =>
  endianness() === "LE" ? buffer.readUInt32LE(at) : buffer.readUInt32BE(at);
const put32 = (buffer: Buffer, value: number, at: number) =>
  endianness() === "LE" ? buffer.writeUInt32LE(value, at) : buffer.writeUInt32BE(value, at);
