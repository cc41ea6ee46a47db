/**
 * Who is at the other end of a loopback connection. Linux lists every TCP socket of the machine with the user who made it, so a server
 * without a token can be open to its own user alone. Each connection is looked up once; connections that arrive together share a read.
 */
import { readFile } from "node:fs/promises";
import type { Server, Socket } from "node:net";
import { endianness } from "node:os";

/** False for a peer that is somebody else, or that cannot be found: no answer means no. */
export type IsOwnUser = (socket: Socket) => Promise<boolean>;

/** Null where the system does not say who made a socket: then users cannot be told apart. */
export async function createOwnUserCheck(server: Server): Promise<IsOwnUser | null> {
  const bound = server.address();
  const uid = process.getuid?.();
  if (uid === undefined || process.platform !== "linux" || typeof bound !== "object" || !bound) return null;
  // Most clients are in the first list; the second costs as much to read.
  const lists = [sharedRead("tcp"), sharedRead("tcp6")];
  const { address, port } = bound;
  const anywhere = { address: address.includes(":") ? "::" : "0.0.0.0", port: 0 };
  // The list is trusted when it knows this server's own socket.
  if ((await makerOf(rowsFor({ address, port }, anywhere), lists)) !== uid) return null;

  const known = new WeakMap<Socket, Promise<boolean>>();
  return (socket) => {
    const found = known.get(socket) ?? look(socket, uid, lists);
    known.set(socket, found);
    return found;
  };
}

// --- internal ---

interface End {
  readonly address: string;
  readonly port: number;
}

/** How often a row is looked for: the list is read in pieces while sockets come and go, so that one can be missed. */
const ATTEMPTS = 3;

type List = () => Promise<string>;

async function look(socket: Socket, uid: number, lists: readonly List[]): Promise<boolean> {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (!localAddress || !localPort || !remoteAddress || !remotePort) return false;
  // Only what reached a loopback address is surely of this machine. The programs are on no other address without a token.
  if (!/^(::ffff:)?127\.|^::1$/.test(localAddress)) return true;
  const rows = rowsFor({ address: remoteAddress, port: remotePort }, { address: localAddress, port: localPort });
  for (let attempt = 0; attempt < ATTEMPTS && !socket.destroyed; attempt++) {
    const maker = await makerOf(rows, lists);
    if (maker !== undefined) return maker === uid;
  }
  return false;
}

/** Who asks while the list is read gets the next reading, which begins after they asked: there are never two at once. */
function sharedRead(name: string): () => Promise<string> {
  let current: Promise<unknown> = Promise.resolve();
  let next: Promise<string> | null = null;
  return () => {
    next ??= current.then(() => {
      next = null;
      const reading = readFile(`/proc/net/${name}`, "latin1").catch(() => "");
      current = reading;
      return reading;
    });
    return next;
  };
}

/** The ways in which the list may write a socket from one end to the other. */
function rowsFor(from: End, to: End): string[] {
  const others = writtenOf(to.address);
  return writtenOf(from.address).map((one, way) => ` ${one}:${hexPort(from)} ${others[way]}:${hexPort(to)} `);
}

async function makerOf(rows: readonly string[], lists: readonly List[]): Promise<number | undefined> {
  for (const list of lists) {
    const maker = makerIn(await list(), rows);
    if (maker !== undefined) return maker;
  }
  return undefined;
}

/** The user who made the socket. One that nobody holds any more is listed as made by root, with inode 0: it counts as not found. */
function makerIn(list: string, rows: readonly string[]): number | undefined {
  for (const row of rows) {
    const at = list.indexOf(row);
    if (at < 0) continue;
    const [, , , , uid, , inode] = list.slice(at + row.length, at + row.length + 120).split(/\s+/);
    if (inode !== undefined && inode !== "0") return Number(uid);
  }
  return undefined;
}

/** IPv4 also as IPv6 has it: a client may connect by either kind of socket. */
function writtenOf(address: string): string[] {
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1]?.split(".").map(Number);
  if (v4) return [hex(v4), hex([...Array(10).fill(0), 255, 255, ...v4])];
  const [head = "", tail] = address.replace(/%.*/, "").split("::");
  const bytesOf = (part: string) =>
    part
      .split(":")
      .flatMap((group) => (group === "" ? [] : [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]));
  const [first, last] = [bytesOf(head), bytesOf(tail ?? "")];
  return [hex([...first, ...Array(Math.max(0, 16 - first.length - last.length)).fill(0), ...last])];
}

/** The kernel prints words of four bytes as the processor reads them. */
function hex(bytes: readonly number[]): string {
  const buffer = Buffer.from(bytes);
  if (endianness() === "LE") buffer.swap32();
  return buffer.toString("hex").toUpperCase();
}

function hexPort({ port }: End): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}
