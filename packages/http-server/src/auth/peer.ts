/**
 * Who is at the other end of a loopback connection. Linux knows the user who made each TCP socket of the machine, so a server without a
 * token can be open to its own user alone. Each connection is looked up once: by asking for its socket, or in the list of all of them,
 * where the kernel walks a table of a quarter of a million places whatever they hold.
 */
import { open } from "node:fs/promises";
import type { Server, Socket } from "node:net";
import { endianness } from "node:os";
import { bytesOf, type End, startAskingKernel } from "./socket-diag.js";

/** False for a peer that is somebody else, or that cannot be found: no answer means no. */
export type IsOwnUser = (socket: Socket) => Promise<boolean>;

/**
 * Null where the system does not say who made a socket: then the server cannot tell users apart.
 *
 * @example
 * const isOwnUser = await createOwnUserCheck(server);
 * const app = createApp({ ...deps, ...(isOwnUser && { isOwnUser }) });
 */
export async function createOwnUserCheck(server: Server, start = startAskingKernel): Promise<IsOwnUser | null> {
  const bound = server.address();
  const uid = process.getuid?.();
  if (uid === undefined || process.platform !== "linux" || typeof bound !== "object" || !bound) return null;
  const { ask, end } = start();
  server.once("close", end);
  // Most clients are in the first list; the second costs as much to read.
  const lists = [createList("tcp"), createList("tcp6")];
  const { address, port } = bound;
  const anywhere = { address: address.includes(":") ? "::" : "0.0.0.0", port: 0 };
  // Each way is trusted once it finds this server's own socket. The list is read only where the kernel cannot be asked.
  const asks = (await ask({ address, port }, anywhere)) === uid;
  if (!asks && (await makerOf(rowsFor({ address, port }, anywhere), lists)) !== uid) return null;

  const known = new WeakMap<Socket, Promise<boolean>>();
  return (socket) => {
    const found =
      known.get(socket) ??
      look(socket, uid, async (from, to) => {
        const maker = asks ? await ask(from, to) : null;
        return maker ?? makerOf(rowsFor(from, to), lists);
      });
    known.set(socket, found);
    return found;
  };
}

// --- internal ---

/** How often a row is looked for: the list is read in pieces while sockets come and go, so that one can be missed. */
const ATTEMPTS = 3;

type Maker = number | undefined;
type List = (rows: readonly string[]) => Promise<Maker>;

async function look(socket: Socket, uid: number, find: (from: End, to: End) => Promise<Maker>): Promise<boolean> {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (!localAddress || !localPort || !remoteAddress || !remotePort) return false;
  // Only what reached a loopback address is surely of this machine. The programs are on no other address without a token.
  if (!/^(::ffff:)?127\.|^::1$/.test(localAddress)) return true;
  const from = { address: remoteAddress, port: remotePort };
  for (let attempt = 0; attempt < ATTEMPTS && !socket.destroyed; attempt++) {
    const maker = await find(from, { address: localAddress, port: localPort });
    if (maker !== undefined) return maker === uid;
  }
  return false;
}

/**
 * One reading at a time, which serves everybody who asked before it began and stops when all are found: to learn that a list is at its
 * end, the kernel walks it once more.
 */
function createList(name: string): List {
  let waiting: { readonly rows: readonly string[]; readonly found: (maker: Maker) => void }[] = [];
  let reading = false;
  const read = async () => {
    reading = true;
    while (waiting.length > 0) {
      let wanted = waiting;
      waiting = [];
      for await (const text of piecesOf(`/proc/net/${name}`)) {
        wanted = wanted.filter(({ rows, found }) => {
          const maker = makerIn(text, rows);
          if (maker !== undefined) found(maker);
          return maker === undefined;
        });
        if (wanted.length === 0) break;
      }
      for (const { found } of wanted) found(undefined);
    }
    reading = false;
  };
  return (rows) =>
    new Promise((found) => {
      waiting.push({ rows, found });
      if (!reading) void read();
    });
}

/** Whole lines, as many as the kernel gives at once. A list that cannot be read is empty. */
async function* piecesOf(path: string): AsyncGenerator<string> {
  const file = await open(path).catch(() => null);
  if (!file) return;
  try {
    const buffer = Buffer.allocUnsafe(64 * 1024);
    for (let rest = ""; ; ) {
      const { bytesRead } = await file.read(buffer).catch(() => ({ bytesRead: 0 }));
      if (bytesRead === 0) return;
      const text = rest + buffer.toString("latin1", 0, bytesRead);
      rest = text.slice(text.lastIndexOf("\n") + 1);
      yield text;
    }
  } finally {
    await file.close();
  }
}

/** The ways in which the list may write a socket from one end to the other. */
function rowsFor(from: End, to: End): string[] {
  const others = writtenOf(to.address);
  return writtenOf(from.address).map((one, way) => ` ${one}:${hexPort(from)} ${others[way]}:${hexPort(to)} `);
}

async function makerOf(rows: readonly string[], lists: readonly List[]): Promise<Maker> {
  for (const list of lists) {
    const maker = await list(rows);
    if (maker !== undefined) return maker;
  }
  return undefined;
}

/** The user who made the socket. One that nobody holds any more is listed as made by root, with inode 0: it counts as not found. */
function makerIn(list: string, rows: readonly string[]): Maker {
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
  const bytes = bytesOf(address);
  return bytes.length === 4 ? [hex(bytes), hex([...Array(10).fill(0), 255, 255, ...bytes])] : [hex(bytes)];
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
