/**
 * Finds the user at the other end of a loopback connection. Linux knows the user who made each TCP socket of the machine, so a server
 * without a token can admit its own user alone. Each connection is looked up once. Asking the kernel for one socket is fast. Reading the
 * list of all sockets is the fallback: for it the kernel walks its whole table of a quarter of a million places, full or empty.
 */
import { open } from "node:fs/promises";
import type { Server, Socket } from "node:net";
import { endianness } from "node:os";
import { bytesOf, type End, startAskingKernel } from "./socket-diag.js";

/** False if the peer is another user, or if its user cannot be found. */
export type IsOwnUser = (socket: Socket) => Promise<boolean>;

/**
 * Null if the system does not say who made a socket: then the server cannot tell users apart.
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
  // Most clients are in the first list, so it is read first: each list takes as long as the other.
  const lists = [createList("tcp"), createList("tcp6")];
  const { address, port } = bound;
  const anywhere = { address: address.includes(":") ? "::" : "0.0.0.0", port: 0 };
  // A way of asking is trusted if it finds this server's own socket. The lists are read only if the kernel cannot be asked.
  const asks = (await ask({ address, port }, anywhere)) === uid;
  if (!asks && (await makerOf(rowsFor({ address, port }, anywhere), lists)) !== uid) return null;

  const known = new WeakMap<Socket, Promise<boolean>>();
  return (socket) => {
    const found =
      known.get(socket) ??
      isMadeBy(socket, uid, async (from, to) => {
        const maker = asks ? await ask(from, to) : null;
        return maker ?? makerOf(rowsFor(from, to), lists);
      });
    known.set(socket, found);
    return found;
  };
}

// --- internal ---

/** How often a socket is looked for. The list is read in pieces while sockets come and go, so one reading can miss a row. */
const ATTEMPTS = 3;

type Maker = number | undefined;
type List = (rows: readonly string[]) => Promise<Maker>;

/** Whether this user made the other end of the socket. */
async function isMadeBy(socket: Socket, uid: number, find: (from: End, to: End) => Promise<Maker>): Promise<boolean> {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (!localAddress || !localPort || !remoteAddress || !remotePort) return false;
  // Only a connection to a loopback address surely comes from this machine. The programs listen on other addresses only with a token.
  if (!/^(::ffff:)?127\.|^::1$/.test(localAddress)) return true;
  const from = { address: remoteAddress, port: remotePort };
  for (let attempt = 0; attempt < ATTEMPTS && !socket.destroyed; attempt++) {
    const maker = await find(from, { address: localAddress, port: localPort });
    if (maker !== undefined) return maker === uid;
  }
  return false;
}

/**
 * Reads a list of the kernel, one reading at a time. A reading answers all calls that came before it began. It stops when all are found,
 * because the kernel walks its whole table once more only to say that the list has ended.
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

/** The list in pieces of whole lines. A list that cannot be read counts as empty. */
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

/** The forms in which the list may write a socket from one end to the other. */
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

/** The user who made the socket. A socket that no process holds any more is listed under root with inode 0, and counts as not found. */
function makerIn(list: string, rows: readonly string[]): Maker {
  for (const row of rows) {
    const at = list.indexOf(row);
    if (at < 0) continue;
    const [, , , , uid, , inode] = list.slice(at + row.length, at + row.length + 120).split(/\s+/);
    if (inode !== undefined && inode !== "0") return Number(uid);
  }
  return undefined;
}

/** An address as the list writes it. IPv4 also in its IPv6 form, because a client may connect through either kind of socket. */
function writtenOf(address: string): string[] {
  const bytes = bytesOf(address);
  return bytes.length === 4 ? [hex(bytes), hex([...Array(10).fill(0), 255, 255, ...bytes])] : [hex(bytes)];
}

/** The kernel prints words of four bytes in the byte order of the processor. */
function hex(bytes: readonly number[]): string {
  const buffer = Buffer.from(bytes);
  if (endianness() === "LE") buffer.swap32();
  return buffer.toString("hex").toUpperCase();
}

function hexPort({ port }: End): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}
